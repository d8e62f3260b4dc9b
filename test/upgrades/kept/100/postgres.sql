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
    version integer NOT NULL
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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hc49c6ape15fad2c6wnqt7', 'ended', 'read_only', 'twin_keOtIvL', '9d0b40e0dbee076498e0112dd238652490029abb8128c61783173d60fba1f581', NULL, 1795879478662, NULL, NULL, 1795879478666);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hc49b26wp4kgcjpr9enkbc', 'main', 'full_access', 'twin_zzu7Oai', '68df0b2308558c9b850833034f9647fed62ef7cec68d74150b77bacda507a422', NULL, 1795879478626, NULL, 1795879478668, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hc49bn9fsj1qvj3f03e2gx', 'reader', 'read_only', 'twin_BRAS2jT', '191fc133efcb3dc7fc2ed1ff3afa90e07aa5976a1f08fc3b91ed5076e45557dd', NULL, 1795879478645, 1798471478645, 1795879478942, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hc49by8xt9wfzr9z666ddp', 'small', 'full_access', 'twin_Wa4NU7e', 'd67aaaf37dd1766017464e4bc9cb62503064131fdc39066af57985a5d2f371ac', 50, 1795879478654, NULL, 1795879478946, NULL);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', '07a8214f6e9646cae6c0053fcb5355c964556952949b9f0d4017259db2b74fc7', '', 'msg_01m8hc49gybpz1n98f08gccp8d', 1795879538801);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8hc49md1t5814n2f0was5dj', 1795965878924);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8hc49cj45dyq36bqy583jq5/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8hc49mj36b8zzdfkm6c18a4', 1795965878930);
INSERT INTO public.client_tokens VALUES ('0c8bbd52fd0f2b52dccd2044b3fe06899ca6d7b04c3285d04ff6b8f083f9ce6c', 'alice', 'key_01m8hc49b26wp4kgcjpr9enkbc', '68df0b2308558c9b850833034f9647fed62ef7cec68d74150b77bacda507a422', 'user 1', '["echo","guide"]', 'full_access', 100, 1795879478828, 1795880078828);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc49eb9zqrsj2hxgdj39zy', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8hc49f1d7yk98yrx2zt5h1e', 1795879478770, 1795879478731, 1795879478794);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc49gj4xyxhj7a0bmndnhp', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8hc49gybpz1n98f08gccp8d', 1795879478814, 1795879478802, 1795879478819);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc49hqawdv9pwbb7pfn00z', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8hc49kba1tawytqh2pq2fcf', 1795879478891, 1795879478839, 1795879478900);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc49md1t5814n2f0was5dj', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795879478924, 1795879478924);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hc49cj45dyq36bqy583jq5', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8hc49mj36b8zzdfkm6c18a4', 1795879478930, 1795879478673, 1795879478932);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795879478834);
INSERT INTO public.messages VALUES ('msg_01m8hc49ct6wdb3jpbgsacs5cg', 'alice', 'conv_01m8hc49cj45dyq36bqy583jq5', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879478682, 1795879478682, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49ct6wdb3jpbgsacs5ch', 'alice', 'conv_01m8hc49cj45dyq36bqy583jq5', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8hc49ct6wdb3jpbgsacs5cg', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879478682, 1795879478687, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49en8wnbksgeka5pss1t', 'alice', 'conv_01m8hc49eb9zqrsj2hxgdj39zy', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879478741, 1795879478741, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49en8wnbksgeka5pss1v', 'alice', 'conv_01m8hc49eb9zqrsj2hxgdj39zy', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8hc49en8wnbksgeka5pss1t', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879478741, 1795879478743, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49f1d7yk98yrx2zt5h1d', 'alice', 'conv_01m8hc49eb9zqrsj2hxgdj39zy', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8hc49en8wnbksgeka5pss1v', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879478753, 1795879478753, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49f1d7yk98yrx2zt5h1e', 'alice', 'conv_01m8hc49eb9zqrsj2hxgdj39zy', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8hc49f1d7yk98yrx2zt5h1d', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879478753, 1795879478755, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49fg8hcjskezr3s317n3', 'alice', 'conv_01m8hc49eb9zqrsj2hxgdj39zy', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8hc49en8wnbksgeka5pss1v', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879478770, 1795879478770, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49fh8p1ht1740p4rm7pv', 'alice', 'conv_01m8hc49eb9zqrsj2hxgdj39zy', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8hc49fg8hcjskezr3s317n3', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879478770, 1795879478775, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49gybpz1n98f08gccp8c', 'alice', 'conv_01m8hc49gj4xyxhj7a0bmndnhp', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879478814, 1795879478814, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49gybpz1n98f08gccp8d', 'alice', 'conv_01m8hc49gj4xyxhj7a0bmndnhp', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8hc49gybpz1n98f08gccp8c', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879478814, 1795879478819, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49hx9zbgp54rxy021n6a', 'alice', 'conv_01m8hc49hqawdv9pwbb7pfn00z', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879478845, 1795879478845, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49hx9zbgp54rxy021n6b', 'alice', 'conv_01m8hc49hqawdv9pwbb7pfn00z', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8hc49hx9zbgp54rxy021n6a', NULL, NULL, NULL, '[{"heading":"Opening hours","score":1}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795879478845, 1795879478878, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795879478886, NULL, 'guide');
INSERT INTO public.messages VALUES ('msg_01m8hc49kba1tawytqh2pq2fce', 'alice', 'conv_01m8hc49hqawdv9pwbb7pfn00z', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8hc49hx9zbgp54rxy021n6b', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879478891, 1795879478891, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49kba1tawytqh2pq2fcf', 'alice', 'conv_01m8hc49hqawdv9pwbb7pfn00z', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8hc49kba1tawytqh2pq2fce', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795879478891, 1795879478900, NULL, NULL, 0, 'down', NULL, 1795879478920, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide');
INSERT INTO public.messages VALUES ('msg_01m8hc49mj36b8zzdfkm6c18a3', 'alice', 'conv_01m8hc49cj45dyq36bqy583jq5', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8hc49ct6wdb3jpbgsacs5ch', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795879478930, 1795879478930, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hc49mj36b8zzdfkm6c18a4', 'alice', 'conv_01m8hc49cj45dyq36bqy583jq5', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8hc49mj36b8zzdfkm6c18a3', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795879478930, 1795879478932, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 479962381, 1795879478659154, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8hc49b26wp4kgcjpr9enkbc/user 1', 143880378, 1795879478958212, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hc49b26wp4kgcjpr9enkbc', 294782198, 1795879479089613, 500);
INSERT INTO public.schema_version VALUES (1);
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
