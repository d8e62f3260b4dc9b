SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.take_rate_tokens(ids text[], capacities integer[], firsts integer[], seconds integer[], asked integer[]) RETURNS TABLE(granted integer, first_debt bigint, second_debt bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE
  locked INTEGER;
  moment BIGINT;
  prices BIGINT[];
  debts BIGINT[];
  one INTEGER;
  two INTEGER;
BEGIN
  LOOP
    INSERT INTO rate_buckets (id, debt, at, capacity)
      SELECT wish.id, 0, 0, wish.capacity FROM unnest(ids, capacities) AS wish (id, capacity)
      ORDER BY wish.id COLLATE "C"
      ON CONFLICT DO NOTHING;
    PERFORM FROM rate_buckets AS bucket WHERE bucket.id = ANY (ids) ORDER BY bucket.id FOR UPDATE;
    GET DIAGNOSTICS locked = ROW_COUNT;
    EXIT WHEN locked = cardinality(ids);
  END LOOP;
  moment := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
  SELECT array_agg(price ORDER BY place), array_agg(
      CASE WHEN owed = 0 OR before = capacity THEN owed
        ELSE greatest(0, capacity * price - floor((before * price_before - owed)::numeric * price / price_before)::bigint)
      END ORDER BY place)
    INTO prices, debts
    FROM (
      SELECT wish.place, wish.capacity::bigint, coalesce(bucket.capacity, wish.capacity)::bigint AS before,
        ceil(3600000000.0 / wish.capacity)::bigint AS price,
        ceil(3600000000.0 / coalesce(bucket.capacity, wish.capacity))::bigint AS price_before,
        greatest(0, bucket.debt - greatest(0, moment - bucket.at)) AS owed
      FROM unnest(ids, capacities) WITH ORDINALITY AS wish (id, capacity, place)
        JOIN rate_buckets AS bucket ON bucket.id = wish.id
    ) AS stand;
  FOR n IN 1 .. cardinality(asked) LOOP
    one := firsts[n];
    two := seconds[n];
    granted := least(asked[n], capacities[one] - ceil(debts[one]::numeric / prices[one]));
    IF two > 0 THEN granted := least(granted, capacities[two] - ceil(debts[two]::numeric / prices[two])); END IF;
    granted := greatest(granted, 0);
    debts[one] := debts[one] + granted * prices[one];
    first_debt := debts[one];
    IF two > 0 THEN
      debts[two] := debts[two] + granted * prices[two];
      second_debt := debts[two];
    END IF;
    RETURN NEXT;
  END LOOP;
  UPDATE rate_buckets AS bucket SET debt = wish.debt, at = moment, capacity = wish.capacity
    FROM unnest(ids, debts, capacities) AS wish (id, debt, capacity) WHERE bucket.id = wish.id;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.api_keys (
    owner text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    prefix text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    requests_per_hour integer,
    created_at bigint NOT NULL,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint,
    previous_hash text COLLATE pg_catalog."C",
    previous_until bigint
);
CREATE TABLE public.claims (
    owner text NOT NULL COLLATE pg_catalog."C",
    end_user text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    claim_key text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    resource_id text NOT NULL COLLATE pg_catalog."C",
    expires_at bigint NOT NULL
);
CREATE TABLE public.client_tokens (
    hash text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    key_hash text NOT NULL COLLATE pg_catalog."C",
    end_user text NOT NULL COLLATE pg_catalog."C",
    twin_ids text COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    requests_per_hour integer NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.conversations (
    owner text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    twin_id text NOT NULL COLLATE pg_catalog."C",
    end_user text COLLATE pg_catalog."C",
    title text COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    reply_id text COLLATE pg_catalog."C",
    log_length bigint NOT NULL,
    path text COLLATE pg_catalog."C",
    last_message_id text COLLATE pg_catalog."C",
    last_message_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    answered_by text DEFAULT 'twin'::text NOT NULL COLLATE pg_catalog."C",
    waiting_since bigint,
    alone_count bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.deleted_conversations (
    owner text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.erasures (
    person text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
);
CREATE TABLE public.memories (
    owner text NOT NULL COLLATE pg_catalog."C",
    end_user text NOT NULL COLLATE pg_catalog."C",
    twin_id text NOT NULL COLLATE pg_catalog."C",
    content text NOT NULL COLLATE pg_catalog."C",
    updated_at bigint NOT NULL
);
CREATE TABLE public.messages (
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    conversation_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    role text NOT NULL COLLATE pg_catalog."C",
    content text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    finish_reason text COLLATE pg_catalog."C",
    after_id text COLLATE pg_catalog."C",
    branch_from bigint,
    token_usage text COLLATE pg_catalog."C",
    failure text COLLATE pg_catalog."C",
    sources text COLLATE pg_catalog."C",
    twin_revision text COLLATE pg_catalog."C",
    last_attempt smallint DEFAULT 0 NOT NULL,
    attempt bigint DEFAULT 1 NOT NULL,
    continued_from bigint,
    created_at bigint NOT NULL,
    completed_at bigint,
    lease_holder text COLLATE pg_catalog."C",
    lease_until bigint,
    cancel_requested smallint DEFAULT 0 NOT NULL,
    rating text COLLATE pg_catalog."C",
    rating_comment text COLLATE pg_catalog."C",
    rated_at bigint,
    unanswered text COLLATE pg_catalog."C",
    review_twin text COLLATE pg_catalog."C",
    alone smallint DEFAULT 0 NOT NULL,
    author text COLLATE pg_catalog."C"
);
CREATE TABLE public.rate_buckets (
    id text NOT NULL COLLATE pg_catalog."C",
    debt bigint NOT NULL,
    at bigint NOT NULL,
    capacity integer
);
CREATE TABLE public.schema_version (
    version integer NOT NULL,
    oldest integer
);
CREATE TABLE public.totals (
    owner text NOT NULL COLLATE pg_catalog."C",
    list text NOT NULL COLLATE pg_catalog."C",
    total bigint NOT NULL
);
CREATE TABLE public.usage_sums (
    owner text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    day text NOT NULL COLLATE pg_catalog."C",
    replies bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_input_tokens bigint NOT NULL
);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hjhh9h16npjm56gg3qw37c', 'ended', 'read_only', 'twin_eLjqPK9', 'a15ca1a261d4dfbee38786e2ba9cf452e80260fe377a5e4528bd1f358425edf6', NULL, 1795886204209, NULL, NULL, 1795886204242, NULL, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hjhh1d5zsb9ned3paeyzra', 'main', 'full_access', 'twin_zseFUvx', '0ea4cac33c189d94cb5faab3246ba6cc9a826b27d22a8125986fd2453d70a6fd', NULL, 1795886203949, NULL, 1795886204421, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hjhh5j2fecet8pkfwhetb8', 'reader', 'read_only', 'twin_M95z9bN', '17c873c97bdcd1d7d3e17bb455771533aeabd1f3cb61a7a7c9340b1fc4efe809', NULL, 1795886204082, 1798478204082, 1795886207009, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hjhh7d1wkfkzq634eafn7b', 'small', 'full_access', 'twin_eaNA3da', 'b81fbadbc41a3b408b95a211f08dfe66bdbff242453bfd4bb23530b87b4a8855', 50, 1795886204141, NULL, 1795886207017, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hjhhcr5x078w2fn2cc6x5s', 'rotated', 'read_only', 'twin_THw6H35', '7d7f062f36800d9d27b0a9ffb255a0e031b005a14d346f5849d2f433050f86bf', NULL, 1795886204312, NULL, 1795886207092, NULL, 'c712606a7a818503d9364b8371fcf07c18eaa9facd9b0b4138c5469608ecd55b', 1795972604387);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', 'e17049bd5cb957e3210083768c18b91a5243ad6f3b9f2fca1ca794ecf615a3f9', '', 'msg_01m8hjhj6c8x8s3602c4tyymkx', 1795886265102);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8hjhkw84x4tc1f1yzsygawa', 1795972606855);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8hjhhhhfappcpppcdgyn40d/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8hjhkxf20x6kkqk08x6qdde', 1795972606889);
INSERT INTO public.client_tokens VALUES ('94bf887e796956d592b117c5f73789acffd6c164cbf3927f0a10b316aed211a3', 'alice', 'key_01m8hjhh1d5zsb9ned3paeyzra', '0ea4cac33c189d94cb5faab3246ba6cc9a826b27d22a8125986fd2453d70a6fd', 'user 1', '["echo","guide"]', 'full_access', 100, 1795886205219, 1795886805219);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hjhht38cmkhga2zqe3qap9', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8hjhhxj1t75536mvhh1gd2g', 1795886204953, 1795886204739, 1795886205034, 'twin', NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hjhj5n9p6h70mj83w1jtcx', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8hjhj6c8x8s3602c4tyymkx', 1795886205132, 1795886205109, 1795886205155, 'twin', NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hjhjcp14jqc55j37knmetj', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8hjhjw59xgc2tgmrwfnsrr0', 1795886205829, 1795886205334, 1795886206066, 'twin', NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hjhkffdvnw9b1hwb9jdwq4', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8hjhkt824mh2ksm28xg410d', 1795886206792, 1795886206447, 1795886206792, 'person', 1795886206792, 3);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hjhkw84x4tc1f1yzsygawa', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795886206855, 1795886206855, 'twin', NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hjhhhhfappcpppcdgyn40d', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8hjhkxf20x6kkqk08x6qdde', 1795886206895, 1795886204465, 1795886206907, 'twin', NULL, 0);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795886206250);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795886205285);
INSERT INTO public.messages VALUES ('msg_01m8hjhhkcf0f65k37evcgz1fp', 'alice', 'conv_01m8hjhhhhfappcpppcdgyn40d', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886204524, 1795886204524, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhhkcf0f65k37evcgz1fq', 'alice', 'conv_01m8hjhhhhfappcpppcdgyn40d', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8hjhhkcf0f65k37evcgz1fp', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795886204524, 1795886204552, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhhv72wfy6sq7dgfdpvqx', 'alice', 'conv_01m8hjhht38cmkhga2zqe3qap9', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886204775, 1795886204775, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhhv72wfy6sq7dgfdpvqy', 'alice', 'conv_01m8hjhht38cmkhga2zqe3qap9', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8hjhhv72wfy6sq7dgfdpvqx', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795886204775, 1795886204789, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhhxj1t75536mvhh1gd2f', 'alice', 'conv_01m8hjhht38cmkhga2zqe3qap9', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8hjhhv72wfy6sq7dgfdpvqy', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886204850, 1795886204850, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhhxj1t75536mvhh1gd2g', 'alice', 'conv_01m8hjhht38cmkhga2zqe3qap9', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8hjhhxj1t75536mvhh1gd2f', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795886204850, 1795886204863, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhhzy40g9y6ebvq7xj993', 'alice', 'conv_01m8hjhht38cmkhga2zqe3qap9', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8hjhhv72wfy6sq7dgfdpvqy', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886204953, 1795886204953, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhhzy40g9y6ebvq7xj994', 'alice', 'conv_01m8hjhht38cmkhga2zqe3qap9', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8hjhhzy40g9y6ebvq7xj993', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795886204953, 1795886204977, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhj6c8x8s3602c4tyymkw', 'alice', 'conv_01m8hjhj5n9p6h70mj83w1jtcx', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886205132, 1795886205132, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhj6c8x8s3602c4tyymkx', 'alice', 'conv_01m8hjhj5n9p6h70mj83w1jtcx', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8hjhj6c8x8s3602c4tyymkw', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795886205132, 1795886205155, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhjesef0d0tae7qtw2zdb', 'alice', 'conv_01m8hjhjcp14jqc55j37knmetj', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886205401, 1795886205401, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhjesef0d0tae7qtw2zdc', 'alice', 'conv_01m8hjhjcp14jqc55j37knmetj', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8hjhjesef0d0tae7qtw2zdb', NULL, NULL, NULL, '[{"heading":"Opening hours","score":0.49}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795886205401, 1795886205682, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795886205793, NULL, 'guide', 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhjw59xgc2tgmrwfnsrqz', 'alice', 'conv_01m8hjhjcp14jqc55j37knmetj', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8hjhjesef0d0tae7qtw2zdc', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886205829, 1795886205829, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhjw59xgc2tgmrwfnsrr0', 'alice', 'conv_01m8hjhjcp14jqc55j37knmetj', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8hjhjw59xgc2tgmrwfnsrqz', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795886205829, 1795886206066, NULL, NULL, 0, 'down', NULL, 1795886206146, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhkjqepjecjkx51fqpckr', 'alice', 'conv_01m8hjhkffdvnw9b1hwb9jdwq4', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886206551, 1795886206551, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhkjqepjecjkx51fqpcks', 'alice', 'conv_01m8hjhkffdvnw9b1hwb9jdwq4', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8hjhkjqepjecjkx51fqpckr', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795886206551, 1795886206560, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhkmxbvwvwxsg0t7nf7mb', 'alice', 'conv_01m8hjhkffdvnw9b1hwb9jdwq4', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8hjhkjqepjecjkx51fqpcks', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886206621, 1795886206621, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva');
INSERT INTO public.messages VALUES ('msg_01m8hjhkq7f9f2ph2ht7khs2mf', 'alice', 'conv_01m8hjhkffdvnw9b1hwb9jdwq4', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8hjhkmxbvwvwxsg0t7nf7mb', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886206696, 1795886206696, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhkt824mh2ksm28xg410d', 'alice', 'conv_01m8hjhkffdvnw9b1hwb9jdwq4', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8hjhkq7f9f2ph2ht7khs2mf', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886206792, 1795886206792, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhkxf20x6kkqk08x6qddd', 'alice', 'conv_01m8hjhhhhfappcpppcdgyn40d', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8hjhhkcf0f65k37evcgz1fq', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795886206895, 1795886206895, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hjhkxf20x6kkqk08x6qdde', 'alice', 'conv_01m8hjhhhhfappcpppcdgyn40d', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8hjhkxf20x6kkqk08x6qddd', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795886206895, 1795886206907, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 719532847, 1795886204373205, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8hjhh1d5zsb9ned3paeyzra/user 1', 142136319, 1795886207191288, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hjhh1d5zsb9ned3paeyzra', 377118914, 1795886208919601, 500);
INSERT INTO public.schema_version VALUES (104, 104);
INSERT INTO public.totals VALUES ('alice', 'keys', 5);
INSERT INTO public.totals VALUES ('alice', 'conversations/guide', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations', 6);
INSERT INTO public.totals VALUES ('alice', 'conversations/echo', 5);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 1', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'guide', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'day', '', '2026-11-28', 10, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', '', '2026-11-28', 8, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'echo', '2026-11-28', 8, 0, 0, 0);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (owner, id);
ALTER TABLE ONLY public.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (owner, end_user, path, claim_key);
ALTER TABLE ONLY public.client_tokens
    ADD CONSTRAINT client_tokens_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (owner, id);
ALTER TABLE ONLY public.deleted_conversations
    ADD CONSTRAINT deleted_conversations_pkey PRIMARY KEY (owner, id);
ALTER TABLE ONLY public.erasures
    ADD CONSTRAINT erasures_pkey PRIMARY KEY (person);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (owner, end_user, twin_id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rate_buckets
    ADD CONSTRAINT rate_buckets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.totals
    ADD CONSTRAINT totals_pkey PRIMARY KEY (owner, list);
ALTER TABLE ONLY public.usage_sums
    ADD CONSTRAINT usage_sums_pkey PRIMARY KEY (owner, kind, name, day);
CREATE INDEX api_keys_by_age ON public.api_keys USING btree (owner, created_at, id);
CREATE INDEX api_keys_by_id ON public.api_keys USING btree (id);
CREATE INDEX api_keys_by_prefix ON public.api_keys USING btree (prefix);
CREATE UNIQUE INDEX api_keys_by_previous ON public.api_keys USING btree (previous_hash) WHERE (previous_hash IS NOT NULL);
CREATE INDEX api_keys_unrevoked ON public.api_keys USING btree (owner, expires_at) WHERE (revoked_at IS NULL);
CREATE INDEX claims_by_expiry ON public.claims USING btree (expires_at);
CREATE INDEX client_tokens_by_end_user ON public.client_tokens USING btree (owner, end_user);
CREATE INDEX client_tokens_by_expiry ON public.client_tokens USING btree (expires_at);
CREATE INDEX conversations_by_age ON public.conversations USING btree (owner, created_at, id);
CREATE INDEX conversations_by_end_user ON public.conversations USING btree (owner, end_user, created_at, id) WHERE (end_user IS NOT NULL);
CREATE UNIQUE INDEX conversations_by_name ON public.conversations USING btree (owner, twin_id, COALESCE(end_user, ''::text), name) WHERE (name IS NOT NULL);
CREATE INDEX conversations_by_person ON public.conversations USING btree (owner, created_at, id) WHERE (answered_by = 'person'::text);
CREATE INDEX conversations_by_twin ON public.conversations USING btree (owner, twin_id, created_at, id);
CREATE INDEX conversations_waiting ON public.conversations USING btree (owner, waiting_since, id) WHERE (waiting_since IS NOT NULL);
CREATE INDEX erasures_by_age ON public.erasures USING btree (at);
CREATE INDEX messages_branches ON public.messages USING btree (conversation_id, seq, branch_from) WHERE (branch_from IS NOT NULL);
CREATE INDEX messages_failed ON public.messages USING btree (conversation_id, seq) WHERE (status = 'failed'::text);
CREATE UNIQUE INDEX messages_in_order ON public.messages USING btree (conversation_id, seq);
CREATE INDEX messages_in_progress ON public.messages USING btree (id) WHERE (status = 'in_progress'::text);
CREATE INDEX messages_rated ON public.messages USING btree (owner, rated_at, id, rating, review_twin) WHERE (rated_at IS NOT NULL);
CREATE INDEX messages_unanswered ON public.messages USING btree (owner, unanswered, id, review_twin, created_at) WHERE (unanswered IS NOT NULL);
