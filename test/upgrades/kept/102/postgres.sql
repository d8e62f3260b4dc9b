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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hf1q016fyps6rqnwb9xkza', 'ended', 'read_only', 'twin_9mKZHb7', '7bfc1019c41537807fb11b5c5ed5f8c4c25867f95afe7f66f8c359548d646394', NULL, 1795882540033, NULL, NULL, 1795882540053);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hf1pvq068jq8h5hzv5hef7', 'main', 'full_access', 'twin_go2ty3J', '2459059ab409351e755bfe0a42089b9f90d5936c936083412c37a5ab4fcb4545', NULL, 1795882539895, NULL, 1795882540064, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hf1px2618av8swcrkwj3wm', 'reader', 'read_only', 'twin_esmwKGh', '0b66ec677bff2745e7cc8eebf69462987ae21e5d5dc138aa1037e40a6e92817d', NULL, 1795882539938, 1798474539938, 1795882541430, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hf1pyybh178sep02tyt44z', 'small', 'full_access', 'twin_vorn966', 'efb1c1b4f91854ddf0b71984c5270bb5b79ff0571faab0c49a224913af7805e1', 50, 1795882539998, NULL, 1795882541445, NULL);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', '11abcfd6c0d892ee120e2e19d61e05977b3b2eeb9af2e4737a577e1dd1370153', '', 'msg_01m8hf1qmp4ybdvx5a674a4ppf', 1795882600671);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8hf1r9rf9ge5q03v5bwwb2h', 1795968941366);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8hf1q1m87nes6hmmgrg28qs/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8hf1ra67es5kje390cmfg80', 1795968941381);
INSERT INTO public.client_tokens VALUES ('a6b59e60aea3cd3c4e3072503cd966570fb61a36a58eb89822c7f11b9ac34b56', 'alice', 'key_01m8hf1pvq068jq8h5hzv5hef7', '2459059ab409351e755bfe0a42089b9f90d5936c936083412c37a5ab4fcb4545', 'user 1', '["echo","guide"]', 'full_access', 100, 1795882540760, 1795883140760);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hf1qacawqc0y0xnvmwah0q', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8hf1qc7ah7pm7h1ndyd0ngs', 1795882540469, 1795882540364, 1795882540569);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hf1qm48qwcvamxxkyxj319', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8hf1qmp4ybdvx5a674a4ppf', 1795882540694, 1795882540676, 1795882540720);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hf1qry14xvd17hrba9yfwf', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8hf1r2wdw4mteeqtqdgy9m2', 1795882541148, 1795882540830, 1795882541195);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hf1r9rf9ge5q03v5bwwb2h', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795882541366, 1795882541366);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hf1q1m87nes6hmmgrg28qs', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8hf1ra67es5kje390cmfg80', 1795882541382, 1795882540083, 1795882541389);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795882541305);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795882540804);
INSERT INTO public.messages VALUES ('msg_01m8hf1q3qfbpyjx5nkf2m4z31', 'alice', 'conv_01m8hf1q1m87nes6hmmgrg28qs', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795882540151, 1795882540151, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1q3qfbpyjx5nkf2m4z32', 'alice', 'conv_01m8hf1q1m87nes6hmmgrg28qs', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8hf1q3qfbpyjx5nkf2m4z31', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795882540151, 1795882540190, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qb55qcntw8c5418admm', 'alice', 'conv_01m8hf1qacawqc0y0xnvmwah0q', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795882540389, 1795882540389, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qb55qcntw8c5418admn', 'alice', 'conv_01m8hf1qacawqc0y0xnvmwah0q', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8hf1qb55qcntw8c5418admm', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795882540389, 1795882540397, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qc7ah7pm7h1ndyd0ngr', 'alice', 'conv_01m8hf1qacawqc0y0xnvmwah0q', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8hf1qb55qcntw8c5418admn', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795882540423, 1795882540423, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qc7ah7pm7h1ndyd0ngs', 'alice', 'conv_01m8hf1qacawqc0y0xnvmwah0q', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8hf1qc7ah7pm7h1ndyd0ngr', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795882540423, 1795882540439, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qdk4rzkgw73v3w8ccy8', 'alice', 'conv_01m8hf1qacawqc0y0xnvmwah0q', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8hf1qb55qcntw8c5418admn', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795882540469, 1795882540469, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qdk4rzkgw73v3w8ccy9', 'alice', 'conv_01m8hf1qacawqc0y0xnvmwah0q', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8hf1qdk4rzkgw73v3w8ccy8', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795882540469, 1795882540497, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qmp4ybdvx5a674a4ppe', 'alice', 'conv_01m8hf1qm48qwcvamxxkyxj319', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795882540694, 1795882540694, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qmp4ybdvx5a674a4ppf', 'alice', 'conv_01m8hf1qm48qwcvamxxkyxj319', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8hf1qmp4ybdvx5a674a4ppe', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795882540694, 1795882540720, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qx76z2ym6rvphw4nv7p', 'alice', 'conv_01m8hf1qry14xvd17hrba9yfwf', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795882540967, 1795882540967, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1qx76z2ym6rvphw4nv7q', 'alice', 'conv_01m8hf1qry14xvd17hrba9yfwf', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8hf1qx76z2ym6rvphw4nv7p', NULL, NULL, NULL, '[{"heading":"Opening hours","score":1}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795882540967, 1795882541063, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795882541112, NULL, 'guide');
INSERT INTO public.messages VALUES ('msg_01m8hf1r2wdw4mteeqtqdgy9m1', 'alice', 'conv_01m8hf1qry14xvd17hrba9yfwf', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8hf1qx76z2ym6rvphw4nv7q', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795882541148, 1795882541148, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1r2wdw4mteeqtqdgy9m2', 'alice', 'conv_01m8hf1qry14xvd17hrba9yfwf', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8hf1r2wdw4mteeqtqdgy9m1', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795882541148, 1795882541195, NULL, NULL, 0, 'down', NULL, 1795882541246, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide');
INSERT INTO public.messages VALUES ('msg_01m8hf1ra67es5kje390cmfg7z', 'alice', 'conv_01m8hf1q1m87nes6hmmgrg28qs', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8hf1q3qfbpyjx5nkf2m4z32', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795882541382, 1795882541382, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hf1ra67es5kje390cmfg80', 'alice', 'conv_01m8hf1q1m87nes6hmmgrg28qs', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8hf1ra67es5kje390cmfg7z', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795882541382, 1795882541389, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 479844180, 1795882540026426, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8hf1pvq068jq8h5hzv5hef7/user 1', 143338445, 1795882541481811, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hf1pvq068jq8h5hzv5hef7', 307799351, 1795882541875466, 500);
INSERT INTO public.schema_version VALUES (102, 100);
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
CREATE INDEX conversations_by_twin ON public.conversations USING btree (owner, twin_id, created_at, id);
CREATE INDEX erasures_by_age ON public.erasures USING btree (at);
CREATE INDEX messages_branches ON public.messages USING btree (conversation_id, seq, branch_from) WHERE (branch_from IS NOT NULL);
CREATE INDEX messages_failed ON public.messages USING btree (conversation_id, seq) WHERE (status = 'failed'::text);
CREATE UNIQUE INDEX messages_in_order ON public.messages USING btree (conversation_id, seq);
CREATE INDEX messages_in_progress ON public.messages USING btree (id) WHERE (status = 'in_progress'::text);
CREATE INDEX messages_rated ON public.messages USING btree (owner, rated_at, id, rating, review_twin) WHERE (rated_at IS NOT NULL);
CREATE INDEX messages_unanswered ON public.messages USING btree (owner, unanswered, id, review_twin, created_at) WHERE (unanswered IS NOT NULL);
