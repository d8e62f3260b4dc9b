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
    updated_at bigint NOT NULL
);
CREATE TABLE public.deleted_conversations (
    owner text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C"
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
    review_twin text COLLATE pg_catalog."C"
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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hc4ehddmfbrfbh9wk9mp70', 'ended', 'read_only', 'twin_s8FmAS0', '9333f8304a186046090819f66dfdff8eee17f5d0d675e7812b3c8bf70c04c026', NULL, 1795879483949, NULL, NULL, 1795879483955);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hc4ee6ba50kh7030aerk57', 'main', 'full_access', 'twin_HerHaDa', '5aecf2fab52269544577f6f76d012b960eb3e2c3d33f6a50f307246c89f430ff', NULL, 1795879483846, NULL, 1795879483965, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hc4egs4jqv4t0c5jf33tk0', 'reader', 'read_only', 'twin_e4RGKef', '3db8bda920b4b1ec40782b8ea71348f35c2c14182e8ed58af8c53649ea436b07', NULL, 1795879483929, 1798471483929, 1795879484345, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hc4eh29gkrcewnqd93k5eb', 'small', 'full_access', 'twin_PJtZ4TC', '72b58f4840a399f8bf757dd5c5fae3ef4c0e16acf03abe6d4c9ef04fb2cff083', 50, 1795879483938, NULL, 1795879484348, NULL);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', 'b225317d7d493ff96aaa14ae0d75af431758339a001127bb22cb3638229c0ae1', '', 'msg_01m8hc4ers5gdw7h3ef6fqr2y2', 1795879544180);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8hc4ewvfywdp18hn1ngwtqy', 1795965884314);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8hc4ej43rb9ac7zn5ht8sg2/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8hc4ex45z3eqvjecwq6ees2', 1795965884324);
INSERT INTO public.client_tokens VALUES ('c9b1ed0c8d1103d94ac66cb1d0edb9d72c4fc9c4777b1475401b0a475c40a703', 'alice', 'key_01m8hc4ee6ba50kh7030aerk57', '5aecf2fab52269544577f6f76d012b960eb3e2c3d33f6a50f307246c89f430ff', 'user 1', '["echo","guide"]', 'full_access', 100, 1795879484201, 1795880084201);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc4epg35w1qw6yrmrc4b76', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8hc4eq56tjcdrpxm441b6kj', 1795879484146, 1795879484112, 1795879484170);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc4ern6n1xa0mtyhtp9n42', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8hc4ers5gdw7h3ef6fqr2y2', 1795879484185, 1795879484181, 1795879484189);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc4esxee9rj9s6kjhhn2g9', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8hc4evm4p8h116ttdbz4e00', 1795879484276, 1795879484221, 1795879484288);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc4ewvfywdp18hn1ngwtqy', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795879484314, 1795879484314);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc4ej43rb9ac7zn5ht8sg2', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8hc4ex45z3eqvjecwq6ees2', 1795879484324, 1795879483971, 1795879484326);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795879484207);
INSERT INTO public.messages VALUES ('msg_01m8hc4em7ebc02ja74bywg13e', 'alice', 'conv_01m8hc4ej43rb9ac7zn5ht8sg2', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879484039, 1795879484039, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4em7ebc02ja74bywg13f', 'alice', 'conv_01m8hc4ej43rb9ac7zn5ht8sg2', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8hc4em7ebc02ja74bywg13e', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879484039, 1795879484048, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4epscmfpnamqd2epxwt3', 'alice', 'conv_01m8hc4epg35w1qw6yrmrc4b76', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879484121, 1795879484121, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4epscmfpnamqd2epxwt4', 'alice', 'conv_01m8hc4epg35w1qw6yrmrc4b76', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8hc4epscmfpnamqd2epxwt3', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879484121, 1795879484125, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4eq56tjcdrpxm441b6kh', 'alice', 'conv_01m8hc4epg35w1qw6yrmrc4b76', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8hc4epscmfpnamqd2epxwt4', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879484133, 1795879484133, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4eq56tjcdrpxm441b6kj', 'alice', 'conv_01m8hc4epg35w1qw6yrmrc4b76', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8hc4eq56tjcdrpxm441b6kh', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879484133, 1795879484137, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4eqh6j1aytgfvb6cwtek', 'alice', 'conv_01m8hc4epg35w1qw6yrmrc4b76', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8hc4epscmfpnamqd2epxwt4', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879484146, 1795879484146, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4eqh6j1aytgfvb6cwtem', 'alice', 'conv_01m8hc4epg35w1qw6yrmrc4b76', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8hc4eqh6j1aytgfvb6cwtek', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879484146, 1795879484151, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4ers5gdw7h3ef6fqr2y1', 'alice', 'conv_01m8hc4ern6n1xa0mtyhtp9n42', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879484185, 1795879484185, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4ers5gdw7h3ef6fqr2y2', 'alice', 'conv_01m8hc4ern6n1xa0mtyhtp9n42', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8hc4ers5gdw7h3ef6fqr2y1', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879484185, 1795879484189, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4et80hapqb8b7hyjrskf', 'alice', 'conv_01m8hc4esxee9rj9s6kjhhn2g9', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879484232, 1795879484232, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4et80hapqb8b7hyjrskg', 'alice', 'conv_01m8hc4esxee9rj9s6kjhhn2g9', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8hc4et80hapqb8b7hyjrskf', NULL, NULL, NULL, '[{"heading":"Opening hours","score":1}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795879484232, 1795879484261, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795879484269, NULL, 'guide');
INSERT INTO public.messages VALUES ('msg_01m8hc4evm4p8h116ttdbz4dzz', 'alice', 'conv_01m8hc4esxee9rj9s6kjhhn2g9', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8hc4et80hapqb8b7hyjrskg', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879484276, 1795879484276, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4evm4p8h116ttdbz4e00', 'alice', 'conv_01m8hc4esxee9rj9s6kjhhn2g9', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8hc4evm4p8h116ttdbz4dzz', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795879484276, 1795879484288, NULL, NULL, 0, 'down', NULL, 1795879484310, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide');
INSERT INTO public.messages VALUES ('msg_01m8hc4ex45z3eqvjecwq6ees1', 'alice', 'conv_01m8hc4ej43rb9ac7zn5ht8sg2', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8hc4em7ebc02ja74bywg13f', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879484324, 1795879484324, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc4ex45z3eqvjecwq6ees2', 'alice', 'conv_01m8hc4ej43rb9ac7zn5ht8sg2', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8hc4ex45z3eqvjecwq6ees1', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879484324, 1795879484326, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 479894048, 1795879483948444, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8hc4ee6ba50kh7030aerk57/user 1', 143852498, 1795879484360014, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hc4ee6ba50kh7030aerk57', 294696020, 1795879484471334, 500);
INSERT INTO public.schema_version VALUES (101, 100);
INSERT INTO public.totals VALUES ('alice', 'keys', 4);
INSERT INTO public.totals VALUES ('alice', 'conversations/guide', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations', 5);
INSERT INTO public.totals VALUES ('alice', 'conversations/echo', 4);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 1', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'guide', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'day', '', '2026-11-28', 9, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', '', '2026-11-28', 7, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'echo', '2026-11-28', 7, 0, 0, 0);
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
CREATE INDEX conversations_by_twin ON public.conversations USING btree (owner, twin_id, created_at, id);
CREATE INDEX messages_branches ON public.messages USING btree (conversation_id, seq, branch_from) WHERE (branch_from IS NOT NULL);
CREATE INDEX messages_failed ON public.messages USING btree (conversation_id, seq) WHERE (status = 'failed'::text);
CREATE UNIQUE INDEX messages_in_order ON public.messages USING btree (conversation_id, seq);
CREATE INDEX messages_in_progress ON public.messages USING btree (id) WHERE (status = 'in_progress'::text);
CREATE INDEX messages_rated ON public.messages USING btree (owner, rated_at, id, rating, review_twin) WHERE (rated_at IS NOT NULL);
CREATE INDEX messages_unanswered ON public.messages USING btree (owner, unanswered, id, review_twin, created_at) WHERE (unanswered IS NOT NULL);
