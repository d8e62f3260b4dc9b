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
    previous_until bigint,
    tokens_per_day bigint,
    tokens_per_month bigint,
    owner_tokens_per_day bigint
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
    expires_at bigint NOT NULL,
    tokens_per_day bigint,
    tokens_per_month bigint
);
CREATE TABLE public.conversation_pairs (
    pair_owner text NOT NULL COLLATE pg_catalog."C",
    conversation_id text NOT NULL COLLATE pg_catalog."C",
    pair text NOT NULL COLLATE pg_catalog."C",
    begun_at bigint NOT NULL
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
    alone_count bigint DEFAULT 0 NOT NULL,
    metadata text COLLATE pg_catalog."C",
    has_told smallint DEFAULT 0 NOT NULL
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
    author text COLLATE pg_catalog."C",
    told text COLLATE pg_catalog."C"
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
CREATE TABLE public.token_reservations (
    reply_id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    person text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    period text NOT NULL COLLATE pg_catalog."C",
    told bigint NOT NULL,
    reserved bigint NOT NULL,
    expires_at bigint
);
CREATE TABLE public.token_sums (
    scope text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    person text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    period text NOT NULL COLLATE pg_catalog."C",
    ends_at bigint NOT NULL,
    most bigint NOT NULL,
    used bigint NOT NULL,
    reserved bigint NOT NULL,
    told bigint NOT NULL
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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hzm4m801y580s39bb6qqh5', 'ended', 'read_only', 'twin_VwHHnN4', '57a34d1687823238e24a8e771658b366d16723a7d0566d51ba394349454fa1af', NULL, 1795899921032, NULL, NULL, 1795899921036, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hzm4k1631ej0d9mmhsqv50', 'main', 'full_access', 'twin_1cFulJQ', '2d7855b3d187775b709895c6338211bc37e2c612af243d571b6308dc256d2acf', NULL, 1795899920993, NULL, 1795899921057, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hzm4kz19x4fbxynxj81pyw', 'frugal', 'full_access', 'twin_SUMBDtH', '11772179b1ec5babfa7bc7af792487ec14386e671101cb44f57763d5d8c6f9e7', NULL, 1795899921023, NULL, 1795899921213, NULL, NULL, NULL, 1000, 1000000000000, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hzm4khcxw6cwvdj9wt95hw', 'reader', 'read_only', 'twin_G6b0kyo', 'feace84d3c0857bd6d1c1b1f2f903ff5f4a2aa4617e88d10d4a11d0b5509edc6', NULL, 1795899921009, 1798491921009, 1795899921465, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hzm4kraspdahqxas1qzgm5', 'small', 'full_access', 'twin_XTgRZMS', 'e7be193d4141ca29ad59c322a08bf82c0d72ca16bf2e6216d10276a5b13a6f63', 50, 1795899921016, NULL, 1795899921469, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hzm4mpcbw73nz6j0f92d36', 'rotated', 'read_only', 'twin_hbvhu9z', '6597e459a90951712a8df7546fc0934f3a64e5977873d1b53ff88d458c065683', NULL, 1795899921046, NULL, 1795899921478, NULL, '3e508ddea32819b99267a5bb5200d7745f9a9b2bd06726cb0a776f47655991b9', 1795986321052, NULL, NULL, 10);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', 'cf50d270f4f081cb1be5d755e527ddf2bbafc9802bdb1d94600bc76738e08936', '', 'msg_01m8hzm4snb2krf2nrcqzkpbhv', 1795899981202);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8hzm512f1szrv4pw30j1dy4', 1795986321439);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8hzm4n98n5xrkgaa456ppgz/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8hzm5189eep187m64fgcsb4', 1795986321448);
INSERT INTO public.client_tokens VALUES ('6d571e7909a2709b4f93e5a2120f53466c0f75976c78e42878fac4f502e378e4', 'alice', 'key_01m8hzm4kz19x4fbxynxj81pyw', '11772179b1ec5babfa7bc7af792487ec14386e671101cb44f57763d5d8c6f9e7', 'user 2', NULL, 'full_access', 100, 1795899921216, 1795900521216, 20, 30);
INSERT INTO public.client_tokens VALUES ('6f80a8ecdda82d3d7fe53d350f16e6282045ac4214515c3692b26800ab81db30', 'alice', 'key_01m8hzm4k1631ej0d9mmhsqv50', '2d7855b3d187775b709895c6338211bc37e2c612af243d571b6308dc256d2acf', 'user 1', '["echo","guide"]', 'full_access', 100, 1795899921252, 1795900521252, NULL, NULL);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8hzm50d2y7zwwywyke7mph6', 'b448341a706c3ae6766af6b14ef39b6f6d0983db5a45c83e45c921e37c8ff62f', 1795899921421);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8hzm50d2y7zwwywyke7mph6', 'a265c74852c3d6a32865f073fcc6f2c1e1dccdb0062aad5371149a9ffbe57356', 1795899921421);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hzm4qb761671wrqzvg6n9s', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8hzm4qs48v27mr2bd8w67j0', 1795899921155, 1795899921131, 1795899921194, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hzm4sk2f4ghcx3qq69mpsq', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8hzm4snb2krf2nrcqzkpbhv', 1795899921205, 1795899921203, 1795899921208, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hzm4t9ezgdev9fd5s62zww', 'model', 'user 2', NULL, NULL, NULL, 2, NULL, 'msg_01m8hzm4tga6j5fft55xcnwqy9', 1795899921232, 1795899921225, 1795899921241, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hzm4vh2vce6c47q35s6rpt', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8hzm4wxee2j2rsh0kabtnsa', 1795899921309, 1795899921265, 1795899921326, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hzm4yt3pet61p9jetd9nm3', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8hzm504dkjdknxwxk309168', 1795899921412, 1795899921370, 1795899921412, 'person', 1795899921412, 3, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hzm50d2y7zwwywyke7mph6', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795899921421, 1795899921432, 'twin', NULL, 0, '{"ticket":"4711","plan 🦜":""}', 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hzm512f1szrv4pw30j1dy4', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795899921439, 1795899921439, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hzm4n98n5xrkgaa456ppgz', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8hzm5189eep187m64fgcsb4', 1795899921448, 1795899921064, 1795899921451, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795899921358);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795899921259);
INSERT INTO public.messages VALUES ('msg_01m8hzm4nnex5v68ebw5qkqknx', 'alice', 'conv_01m8hzm4n98n5xrkgaa456ppgz', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921077, 1795899921077, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4nnex5v68ebw5qkqkny', 'alice', 'conv_01m8hzm4n98n5xrkgaa456ppgz', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8hzm4nnex5v68ebw5qkqknx', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795899921077, 1795899921084, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4qg99xjd1drcfxsjg0f', 'alice', 'conv_01m8hzm4qb761671wrqzvg6n9s', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921136, 1795899921136, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4qg99xjd1drcfxsjg0g', 'alice', 'conv_01m8hzm4qb761671wrqzvg6n9s', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8hzm4qg99xjd1drcfxsjg0f', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795899921136, 1795899921138, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4qs48v27mr2bd8w67hz', 'alice', 'conv_01m8hzm4qb761671wrqzvg6n9s', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8hzm4qg99xjd1drcfxsjg0g', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921145, 1795899921145, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4qs48v27mr2bd8w67j0', 'alice', 'conv_01m8hzm4qb761671wrqzvg6n9s', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8hzm4qs48v27mr2bd8w67hz', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795899921145, 1795899921148, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4r2cw6k2bq5c66rdhv8', 'alice', 'conv_01m8hzm4qb761671wrqzvg6n9s', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8hzm4qg99xjd1drcfxsjg0g', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921155, 1795899921155, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4r2cw6k2bq5c66rdhv9', 'alice', 'conv_01m8hzm4qb761671wrqzvg6n9s', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8hzm4r2cw6k2bq5c66rdhv8', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795899921155, 1795899921170, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4snb2krf2nrcqzkpbht', 'alice', 'conv_01m8hzm4sk2f4ghcx3qq69mpsq', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921205, 1795899921205, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4snb2krf2nrcqzkpbhv', 'alice', 'conv_01m8hzm4sk2f4ghcx3qq69mpsq', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8hzm4snb2krf2nrcqzkpbht', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795899921205, 1795899921208, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4tga6j5fft55xcnwqy8', 'alice', 'conv_01m8hzm4t9ezgdev9fd5s62zww', 0, 'user', 'Hello?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921232, 1795899921232, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4tga6j5fft55xcnwqy9', 'alice', 'conv_01m8hzm4t9ezgdev9fd5s62zww', 1, 'assistant', '', 'failed', 'error', 'msg_01m8hzm4tga6j5fft55xcnwqy8', NULL, NULL, '{"code":"model_error","message":"The twin''s model failed to reply."}', NULL, 'cd59823ce92aaf3c', 0, 1, NULL, 1795899921232, 1795899921241, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4vqbt8br969yx3mr6g6', 'alice', 'conv_01m8hzm4vh2vce6c47q35s6rpt', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921271, 1795899921271, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4vqbt8br969yx3mr6g7', 'alice', 'conv_01m8hzm4vh2vce6c47q35s6rpt', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8hzm4vqbt8br969yx3mr6g6', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.49}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795899921271, 1795899921296, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795899921305, NULL, 'guide', 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4wxee2j2rsh0kabtns9', 'alice', 'conv_01m8hzm4vh2vce6c47q35s6rpt', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8hzm4vqbt8br969yx3mr6g7', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921309, 1795899921309, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4wxee2j2rsh0kabtnsa', 'alice', 'conv_01m8hzm4vh2vce6c47q35s6rpt', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8hzm4wxee2j2rsh0kabtns9', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795899921309, 1795899921326, NULL, NULL, 0, 'down', NULL, 1795899921343, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4z35f9j3zxdthrmesd7', 'alice', 'conv_01m8hzm4yt3pet61p9jetd9nm3', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921379, 1795899921379, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4z35f9j3zxdthrmesd8', 'alice', 'conv_01m8hzm4yt3pet61p9jetd9nm3', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8hzm4z35f9j3zxdthrmesd7', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795899921379, 1795899921382, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4zf4rkmhzyx2twg339b', 'alice', 'conv_01m8hzm4yt3pet61p9jetd9nm3', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8hzm4z35f9j3zxdthrmesd8', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921391, 1795899921391, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva', NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm4zn80z4a49e0trv9ra3', 'alice', 'conv_01m8hzm4yt3pet61p9jetd9nm3', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8hzm4zf4rkmhzyx2twg339b', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921397, 1795899921397, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm504dkjdknxwxk309168', 'alice', 'conv_01m8hzm4yt3pet61p9jetd9nm3', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8hzm4zn80z4a49e0trv9ra3', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921412, 1795899921412, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm5189eep187m64fgcsb3', 'alice', 'conv_01m8hzm4n98n5xrkgaa456ppgz', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8hzm4nnex5v68ebw5qkqkny', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795899921448, 1795899921448, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hzm5189eep187m64fgcsb4', 'alice', 'conv_01m8hzm4n98n5xrkgaa456ppgz', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8hzm5189eep187m64fgcsb3', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795899921448, 1795899921451, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 839937256, 1795899921050937, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8hzm4kz19x4fbxynxj81pyw/user 2', 71994617, 1795899921229209, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hzm4kz19x4fbxynxj81pyw', 21585025, 1795899921229209, 500);
INSERT INTO public.rate_buckets VALUES ('key_01m8hzm4k1631ej0d9mmhsqv50/user 1', 143775181, 1795899921488665, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hzm4k1631ej0d9mmhsqv50', 416999046, 1795899921661175, 500);
INSERT INTO public.schema_version VALUES (107, 106);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8hzm4kz19x4fbxynxj81pyw', '2026-11', 1796083200000, 30, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8hzm4kz19x4fbxynxj81pyw', '2026-11-28', 1795910400000, 20, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8hzm4kz19x4fbxynxj81pyw', '2026-11', 1796083200000, 1000000000000, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8hzm4kz19x4fbxynxj81pyw', '2026-11-28', 1795910400000, 1000, 0, 0, 0);
INSERT INTO public.totals VALUES ('alice', 'keys', 6);
INSERT INTO public.totals VALUES ('alice', 'conversations/model', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations/guide', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations', 8);
INSERT INTO public.totals VALUES ('alice', 'conversations/echo', 6);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 2', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'model', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 1', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'guide', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'day', '', '2026-11-28', 11, 0, 0, 0);
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
ALTER TABLE ONLY public.conversation_pairs
    ADD CONSTRAINT conversation_pairs_pkey PRIMARY KEY (pair_owner, conversation_id, pair);
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
ALTER TABLE ONLY public.token_reservations
    ADD CONSTRAINT token_reservations_pkey PRIMARY KEY (reply_id, scope, owner, person, subject, period);
ALTER TABLE ONLY public.token_sums
    ADD CONSTRAINT token_sums_pkey PRIMARY KEY (scope, owner, person, subject, period);
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
CREATE INDEX conversation_pairs_by_age ON public.conversation_pairs USING btree (pair_owner, pair, begun_at, conversation_id);
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
CREATE INDEX token_reservations_by_expiry ON public.token_reservations USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX token_sums_by_end ON public.token_sums USING btree (ends_at);
ALTER TABLE ONLY public.conversation_pairs
    ADD CONSTRAINT conversation_pairs_pair_owner_conversation_id_fkey FOREIGN KEY (pair_owner, conversation_id) REFERENCES public.conversations(owner, id) ON DELETE CASCADE;
