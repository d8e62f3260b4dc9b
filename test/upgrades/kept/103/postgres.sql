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
    revoked_at bigint
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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hgptvx4gmknpw7tyjw2fht', 'ended', 'read_only', 'twin_Iz5Q035', '7973d459783d41c8345bce2ce3c01c71809f314419a3cd224da437acc8debee8', NULL, 1795884280701, NULL, NULL, 1795884280713);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hgptt4ccr50h4dqhf9za0h', 'main', 'full_access', 'twin_qdKihVC', '3fcc34c18901f7d81a5a11beb9b486aa2e57a593e58f2d2eeaa5399409ba15da', NULL, 1795884280644, NULL, 1795884280725, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hgpttz44de9ha0bmet0w0r', 'reader', 'read_only', 'twin_dQ9nWjB', '57055c9495914c17cbcf5a6eba38f67777006ad0871f0e405901a2343a026524', NULL, 1795884280671, 1798476280671, 1795884281283, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hgptvh2feas353jgk7xew7', 'small', 'full_access', 'twin_gYm1Wf1', 'a704a1a98044549b196e8bd46bc303b5700de32aa9fb2089c8c69a91dd300178', 50, 1795884280689, NULL, 1795884281289, NULL);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', '5772b620b2f24ffded84806ce8772a3da06a9a25c50f1f222630c3f6bfc23855', '', 'msg_01m8hgpv3y8b9pbr3m28y4v5mj', 1795884340946);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8hgpvcpawyxd0yd3m0g4gq7', 1795970681237);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8hgptx1ep0qrqym98varfdn/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8hgpvd5a485ms3xydzbhwjn', 1795970681249);
INSERT INTO public.client_tokens VALUES ('d3a27f83e0631e59f29969dbfc54ed1e7d79721afd25b5350c40d65c51161035', 'alice', 'key_01m8hgptt4ccr50h4dqhf9za0h', '3fcc34c18901f7d81a5a11beb9b486aa2e57a593e58f2d2eeaa5399409ba15da', 'user 1', '["echo","guide"]', 'full_access', 100, 1795884280978, 1795884880978);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hgpv151ce0s9ttrkv0fvv0', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8hgpv21fpz4fma0nw0p0rrh', 1795884280911, 1795884280869, 1795884280937, 'twin', NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hgpv3n9mqrghgtankamkt1', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8hgpv3y8b9pbr3m28y4v5mj', 1795884280958, 1795884280949, 1795884280969, 'twin', NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hgpv5efc3scpdnssh7nqsc', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8hgpv7n5869wcg4s6a67kqs', 1795884281077, 1795884281006, 1795884281088, 'twin', NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hgpvah5mjggfzcp0fpmfjw', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8hgpvc77214dhdeeh9b7zbx', 1795884281223, 1795884281169, 1795884281223, 'person', 1795884281223, 3);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hgpvcpawyxd0yd3m0g4gq7', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795884281237, 1795884281237, 'twin', NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hgptx1ep0qrqym98varfdn', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8hgpvd5a485ms3xydzbhwjn', 1795884281253, 1795884280737, 1795884281262, 'twin', NULL, 0);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795884281148);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795884280997);
INSERT INTO public.messages VALUES ('msg_01m8hgptxk7kyvtfqv1ktyf68n', 'alice', 'conv_01m8hgptx1ep0qrqym98varfdn', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884280755, 1795884280755, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgptxk7kyvtfqv1ktyf68p', 'alice', 'conv_01m8hgptx1ep0qrqym98varfdn', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8hgptxk7kyvtfqv1ktyf68n', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795884280755, 1795884280820, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv1j78ymdd2yy2m378ay', 'alice', 'conv_01m8hgpv151ce0s9ttrkv0fvv0', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884280882, 1795884280882, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv1j78ymdd2yy2m378az', 'alice', 'conv_01m8hgpv151ce0s9ttrkv0fvv0', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8hgpv1j78ymdd2yy2m378ay', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795884280882, 1795884280885, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv21fpz4fma0nw0p0rrg', 'alice', 'conv_01m8hgpv151ce0s9ttrkv0fvv0', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8hgpv1j78ymdd2yy2m378az', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884280897, 1795884280897, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv21fpz4fma0nw0p0rrh', 'alice', 'conv_01m8hgpv151ce0s9ttrkv0fvv0', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8hgpv21fpz4fma0nw0p0rrg', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795884280897, 1795884280899, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv2e5kmfmga25b6aanjp', 'alice', 'conv_01m8hgpv151ce0s9ttrkv0fvv0', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8hgpv1j78ymdd2yy2m378az', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884280911, 1795884280911, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv2e5kmfmga25b6aanjq', 'alice', 'conv_01m8hgpv151ce0s9ttrkv0fvv0', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8hgpv2e5kmfmga25b6aanjp', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795884280911, 1795884280920, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv3y8b9pbr3m28y4v5mh', 'alice', 'conv_01m8hgpv3n9mqrghgtankamkt1', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884280958, 1795884280958, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv3y8b9pbr3m28y4v5mj', 'alice', 'conv_01m8hgpv3n9mqrghgtankamkt1', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8hgpv3y8b9pbr3m28y4v5mh', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795884280958, 1795884280969, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv5x5hmxk1maqgzgyg4q', 'alice', 'conv_01m8hgpv5efc3scpdnssh7nqsc', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884281021, 1795884281021, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv5x5hmxk1maqgzgyg4r', 'alice', 'conv_01m8hgpv5efc3scpdnssh7nqsc', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8hgpv5x5hmxk1maqgzgyg4q', NULL, NULL, NULL, '[{"heading":"Opening hours","score":1}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795884281021, 1795884281050, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795884281065, NULL, 'guide', 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv7n5869wcg4s6a67kqr', 'alice', 'conv_01m8hgpv5efc3scpdnssh7nqsc', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8hgpv5x5hmxk1maqgzgyg4r', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884281077, 1795884281077, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpv7n5869wcg4s6a67kqs', 'alice', 'conv_01m8hgpv5efc3scpdnssh7nqsc', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8hgpv7n5869wcg4s6a67kqr', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795884281077, 1795884281088, NULL, NULL, 0, 'down', NULL, 1795884281112, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpvasfa9783ngjg6qyxn5', 'alice', 'conv_01m8hgpvah5mjggfzcp0fpmfjw', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884281178, 1795884281178, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpvasfa9783ngjg6qyxn6', 'alice', 'conv_01m8hgpvah5mjggfzcp0fpmfjw', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8hgpvasfa9783ngjg6qyxn5', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795884281178, 1795884281185, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpvb9ckxgsdj5wmzyb8jw', 'alice', 'conv_01m8hgpvah5mjggfzcp0fpmfjw', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8hgpvasfa9783ngjg6qyxn6', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884281193, 1795884281193, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva');
INSERT INTO public.messages VALUES ('msg_01m8hgpvbt1pcvq1rv65jzscbw', 'alice', 'conv_01m8hgpvah5mjggfzcp0fpmfjw', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8hgpvb9ckxgsdj5wmzyb8jw', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884281210, 1795884281210, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpvc77214dhdeeh9b7zbx', 'alice', 'conv_01m8hgpvah5mjggfzcp0fpmfjw', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8hgpvbt1pcvq1rv65jzscbw', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884281223, 1795884281223, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpvd5a485ms3xydzbhwjm', 'alice', 'conv_01m8hgptx1ep0qrqym98varfdn', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8hgptxk7kyvtfqv1ktyf68p', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795884281253, 1795884281253, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hgpvd5a485ms3xydzbhwjn', 'alice', 'conv_01m8hgptx1ep0qrqym98varfdn', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8hgpvd5a485ms3xydzbhwjm', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795884281253, 1795884281262, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 479940931, 1795884280697900, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8hgptt4ccr50h4dqhf9za0h/user 1', 143697403, 1795884281307223, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hgptt4ccr50h4dqhf9za0h', 380812707, 1795884281521465, 500);
INSERT INTO public.schema_version VALUES (103, 103);
INSERT INTO public.totals VALUES ('alice', 'keys', 4);
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
