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
CREATE TABLE public.loose_contents (
    owner text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
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
CREATE TABLE public.own_twins (
    owner text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    features text NOT NULL COLLATE pg_catalog."C",
    version bigint,
    revision text NOT NULL COLLATE pg_catalog."C",
    last_version bigint NOT NULL,
    text_bytes bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
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
CREATE TABLE public.twin_contents (
    owner text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    part bigint NOT NULL,
    content text NOT NULL
);
CREATE TABLE public.twin_parts (
    owner text NOT NULL COLLATE pg_catalog."C",
    twin_id text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    since bigint NOT NULL,
    until bigint,
    digest text NOT NULL COLLATE pg_catalog."C",
    bytes bigint NOT NULL,
    text_digest text NOT NULL COLLATE pg_catalog."C",
    text_bytes bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.twin_versions (
    owner text NOT NULL COLLATE pg_catalog."C",
    twin_id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    revision text NOT NULL COLLATE pg_catalog."C",
    note text COLLATE pg_catalog."C",
    created_at bigint NOT NULL
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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j1aden2zm9tzdc5165fs1b', 'ended', 'read_only', 'twin_sNoN2vV', '005b9115a21d00f063a58d177e37ae22c46c3275c618d89ed4a60cf2080a9715', NULL, 1795901699541, NULL, NULL, 1795901699558, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j1adc65wg6vftmj86k42b0', 'main', 'full_access', 'twin_OOCnAdj', '3aad44d208e1de02f6c45a05473754cc85ee8fa9d88f031f04358b85ee69974d', NULL, 1795901699462, NULL, 1795901699605, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j1ade8cdsvr206d3q0w695', 'frugal', 'full_access', 'twin_FueSDXO', 'e5784691f2dd9755ebe97a68a153c334536f9bc46d625322b9edfb72f3f05107', NULL, 1795901699528, NULL, 1795901699999, NULL, NULL, NULL, 1000, 1000000000000, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j1add267zyxjr6rzvd74kw', 'reader', 'read_only', 'twin_3ZccqP4', '0b4fe470ec75c430ad24fd030ae638606f2831347e4358cb8715dd85447bb452', NULL, 1795901699490, 1798493699490, 1795901702256, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j1addp53gsvv6n5wan1x76', 'small', 'full_access', 'twin_5I9ycni', '28061908436c5b71f112f0338261698751fba23545a5be4c4ab58dbaf3b16761', 50, 1795901699510, NULL, 1795901702263, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j1adfs3d5grv3rts7165fc', 'rotated', 'read_only', 'twin_ldlk2uf', 'fb80dade2932aa74d3f173f1d3c12b60e33fa7553317303402b3bae0637770be', NULL, 1795901699577, NULL, 1795901702293, NULL, 'da16ebf8672cabe6256d39c620abb4df142e43fbad984226c54d30644fd0dca0', 1795988099597, NULL, NULL, 10);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', '3a91b801ca08e376ee7d5fb9c2f108f6d8c00a416bd5ed715de682caa14f7f67', '', 'msg_01m8j1advm3sa4j4085cmbf9sq', 1795901759949);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8j1ag1fay1ckwnrstk3pn1t', 1795988102186);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8j1adgx0tzqaw61a60n50b9/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8j1ag289d19x1m1x3ydmd8x', 1795988102214);
INSERT INTO public.client_tokens VALUES ('7351d73a66a1ff5e5e4fcd6467aa6dae297b8d4c7290dab0654d42b933aeb510', 'alice', 'key_01m8j1ade8cdsvr206d3q0w695', 'e5784691f2dd9755ebe97a68a153c334536f9bc46d625322b9edfb72f3f05107', 'user 2', NULL, 'full_access', 100, 1795901700023, 1795902300023, 20, 30);
INSERT INTO public.client_tokens VALUES ('cef14bab61fb53e0df772aee421e3887dbb6e4168833471a7e377921bb713170', 'alice', 'key_01m8j1adc65wg6vftmj86k42b0', '3aad44d208e1de02f6c45a05473754cc85ee8fa9d88f031f04358b85ee69974d', 'user 1', '["echo","guide"]', 'full_access', 100, 1795901700089, 1795902300089, NULL, NULL);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8j1afkt0zrpq34n1d7zrmqn', 'b448341a706c3ae6766af6b14ef39b6f6d0983db5a45c83e45c921e37c8ff62f', 1795901701754);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8j1afkt0zrpq34n1d7zrmqn', 'a265c74852c3d6a32865f073fcc6f2c1e1dccdb0062aad5371149a9ffbe57356', 1795901701754);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1adm5f5cbb7w6nnwdft16', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8j1admt5xbyc2ajk8eqtqgn', 1795901699767, 1795901699717, 1795901699884, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1advee83ar66620ymzjm4', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8j1advm3sa4j4085cmbf9sq', 1795901699956, 1795901699950, 1795901699992, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1adyb8fn034jete6aq40x', 'model', 'user 2', NULL, NULL, NULL, 2, NULL, 'msg_01m8j1adys45e7mc5a010z35vb', 1795901700057, 1795901700043, 1795901700074, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1ae36feeb5z6b6rh0km65', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8j1aedy0g786bfag6k2fg1p', 1795901700542, 1795901700198, 1795901700737, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1aeqm8kk80xz9pej6gmvt', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8j1afh0bcbrmsyyt782nmgx', 1795901701664, 1795901700852, 1795901701664, 'person', 1795901701664, 3, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1afkt0zrpq34n1d7zrmqn', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795901701754, 1795901701792, 'twin', NULL, 0, '{"ticket":"4711","plan 🦜":""}', 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1afvqe59nt4wbqa86agwk', 'own', NULL, NULL, NULL, NULL, 2, NULL, 'msg_01m8j1afw15kk3ay5xsj4fm46t', 1795901702017, 1795901702002, 1795901702029, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1ag1fay1ckwnrstk3pn1t', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795901702186, 1795901702186, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j1adgx0tzqaw61a60n50b9', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8j1ag289d19x1m1x3ydmd8x', 1795901702216, 1795901699613, 1795901702222, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795901700829);
INSERT INTO public.loose_contents VALUES ('alice', '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 1795901701808);
INSERT INTO public.loose_contents VALUES ('alice', '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 1795901701985);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795901700105);
INSERT INTO public.messages VALUES ('msg_01m8j1adhg1rz07090d48d2sth', 'alice', 'conv_01m8j1adgx0tzqaw61a60n50b9', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901699633, 1795901699633, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1adhg1rz07090d48d2stj', 'alice', 'conv_01m8j1adgx0tzqaw61a60n50b9', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8j1adhg1rz07090d48d2sth', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795901699633, 1795901699639, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1admffjy679808f26rtqr', 'alice', 'conv_01m8j1adm5f5cbb7w6nnwdft16', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901699727, 1795901699727, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1admffjy679808f26rtqs', 'alice', 'conv_01m8j1adm5f5cbb7w6nnwdft16', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8j1admffjy679808f26rtqr', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795901699727, 1795901699730, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1admt5xbyc2ajk8eqtqgm', 'alice', 'conv_01m8j1adm5f5cbb7w6nnwdft16', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8j1admffjy679808f26rtqs', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901699738, 1795901699738, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1admt5xbyc2ajk8eqtqgn', 'alice', 'conv_01m8j1adm5f5cbb7w6nnwdft16', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8j1admt5xbyc2ajk8eqtqgm', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795901699738, 1795901699740, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1adnn5zf7qb919ydasm64', 'alice', 'conv_01m8j1adm5f5cbb7w6nnwdft16', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8j1admffjy679808f26rtqs', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901699767, 1795901699767, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1adnn5zf7qb919ydasm65', 'alice', 'conv_01m8j1adm5f5cbb7w6nnwdft16', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8j1adnn5zf7qb919ydasm64', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795901699767, 1795901699786, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1advm3sa4j4085cmbf9sp', 'alice', 'conv_01m8j1advee83ar66620ymzjm4', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901699956, 1795901699956, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1advm3sa4j4085cmbf9sq', 'alice', 'conv_01m8j1advee83ar66620ymzjm4', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8j1advm3sa4j4085cmbf9sp', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795901699956, 1795901699992, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1adys45e7mc5a010z35va', 'alice', 'conv_01m8j1adyb8fn034jete6aq40x', 0, 'user', 'Hello?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901700057, 1795901700057, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1adys45e7mc5a010z35vb', 'alice', 'conv_01m8j1adyb8fn034jete6aq40x', 1, 'assistant', '', 'failed', 'error', 'msg_01m8j1adys45e7mc5a010z35va', NULL, NULL, '{"code":"model_error","message":"The twin''s model failed to reply."}', NULL, 'cd59823ce92aaf3c', 0, 1, NULL, 1795901700057, 1795901700074, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1ae3s4meje4q14ve7825f', 'alice', 'conv_01m8j1ae36feeb5z6b6rh0km65', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901700217, 1795901700217, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1ae3s4meje4q14ve7825g', 'alice', 'conv_01m8j1ae36feeb5z6b6rh0km65', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8j1ae3s4meje4q14ve7825f', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.49}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795901700217, 1795901700300, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795901700325, NULL, 'guide', 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1aedy0g786bfag6k2fg1n', 'alice', 'conv_01m8j1ae36feeb5z6b6rh0km65', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8j1ae3s4meje4q14ve7825g', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901700542, 1795901700542, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1aedy0g786bfag6k2fg1p', 'alice', 'conv_01m8j1ae36feeb5z6b6rh0km65', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8j1aedy0g786bfag6k2fg1n', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795901700542, 1795901700737, NULL, NULL, 0, 'down', NULL, 1795901700809, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1aesd6pbvp6r5k5vka833', 'alice', 'conv_01m8j1aeqm8kk80xz9pej6gmvt', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901700909, 1795901700909, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1aesd6pbvp6r5k5vka834', 'alice', 'conv_01m8j1aeqm8kk80xz9pej6gmvt', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8j1aesd6pbvp6r5k5vka833', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795901700909, 1795901700991, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1aewecczmphtn2xpkrqvz', 'alice', 'conv_01m8j1aeqm8kk80xz9pej6gmvt', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8j1aesd6pbvp6r5k5vka834', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901701006, 1795901701006, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva', NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1afb746yvcrhhf5d13y8g', 'alice', 'conv_01m8j1aeqm8kk80xz9pej6gmvt', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8j1aewecczmphtn2xpkrqvz', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901701479, 1795901701479, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1afh0bcbrmsyyt782nmgx', 'alice', 'conv_01m8j1aeqm8kk80xz9pej6gmvt', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8j1afb746yvcrhhf5d13y8g', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901701664, 1795901701664, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1afw15kk3ay5xsj4fm46s', 'alice', 'conv_01m8j1afvqe59nt4wbqa86agwk', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901702017, 1795901702017, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1afw15kk3ay5xsj4fm46t', 'alice', 'conv_01m8j1afvqe59nt4wbqa86agwk', 1, 'assistant', 'We open at ten. 🦜', 'completed', 'stop', 'msg_01m8j1afw15kk3ay5xsj4fm46s', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.61}]', '4e54dcf5613bf410', 0, 1, NULL, 1795901702017, 1795901702029, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1ag289d19x1m1x3ydmd8w', 'alice', 'conv_01m8j1adgx0tzqaw61a60n50b9', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8j1adhg1rz07090d48d2stj', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795901702216, 1795901702216, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j1ag289d19x1m1x3ydmd8x', 'alice', 'conv_01m8j1adgx0tzqaw61a60n50b9', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8j1ag289d19x1m1x3ydmd8w', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795901702216, 1795901702222, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.own_twins VALUES ('alice', 'own', 'Own', '{"description":null,"avatarUrl":null,"greeting":null,"tags":[],"handover":false}', 2, '4e54dcf5613bf410', 2, 81, 1795901701808, 1795901701985);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 839861701, 1795901699594977, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8j1ade8cdsvr206d3q0w695/user 2', 71987662, 1795901700050989, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8j1ade8cdsvr206d3q0w695', 21562627, 1795901700050989, 500);
INSERT INTO public.rate_buckets VALUES ('key_01m8j1adc65wg6vftmj86k42b0/user 1', 141830872, 1795901702308722, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8j1adc65wg6vftmj86k42b0', 456990155, 1795901703420932, 500);
INSERT INTO public.schema_version VALUES (108, 106);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8j1ade8cdsvr206d3q0w695', '2026-11', 1796083200000, 30, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8j1ade8cdsvr206d3q0w695', '2026-11-28', 1795910400000, 20, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8j1ade8cdsvr206d3q0w695', '2026-11', 1796083200000, 1000000000000, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8j1ade8cdsvr206d3q0w695', '2026-11-28', 1795910400000, 1000, 0, 0, 0);
INSERT INTO public.totals VALUES ('alice', 'keys', 6);
INSERT INTO public.totals VALUES ('alice', 'conversations/model', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations/guide', 1);
INSERT INTO public.totals VALUES ('alice', 'changes of twins', 2);
INSERT INTO public.totals VALUES ('alice', 'conversations/own', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations', 9);
INSERT INTO public.totals VALUES ('alice', 'conversations/echo', 6);
INSERT INTO public.twin_contents VALUES ('alice', '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 0, 'LS0tCm5hbWU6IE93bgotLS0KCiMjIE9wZW5pbmcgaG91cnMKCldlIG9wZW4gYXQgdGVuLiDwn6acCg==');
INSERT INTO public.twin_contents VALUES ('alice', '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 0, 'IyBDb2ZmZWUKClRocmVlIGV1cm9zLgo=');
INSERT INTO public.twin_parts VALUES ('alice', 'own', '', 1, NULL, '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 58, '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 58, 1795901701808);
INSERT INTO public.twin_parts VALUES ('alice', 'own', 'prices/2026.md', 2, NULL, '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 23, '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 23, 1795901701985);
INSERT INTO public.twin_versions VALUES ('alice', 'own', 1, '36b1968290af7a87', 'The first', 1795901701808);
INSERT INTO public.twin_versions VALUES ('alice', 'own', 2, '4e54dcf5613bf410', NULL, 1795901701985);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 2', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'model', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 1', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'guide', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'own', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'day', '', '2026-11-28', 12, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', '', '2026-11-28', 9, 0, 0, 0);
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
ALTER TABLE ONLY public.loose_contents
    ADD CONSTRAINT loose_contents_pkey PRIMARY KEY (owner, digest);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (owner, end_user, twin_id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.own_twins
    ADD CONSTRAINT own_twins_pkey PRIMARY KEY (owner, id);
ALTER TABLE ONLY public.rate_buckets
    ADD CONSTRAINT rate_buckets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.token_reservations
    ADD CONSTRAINT token_reservations_pkey PRIMARY KEY (reply_id, scope, owner, person, subject, period);
ALTER TABLE ONLY public.token_sums
    ADD CONSTRAINT token_sums_pkey PRIMARY KEY (scope, owner, person, subject, period);
ALTER TABLE ONLY public.totals
    ADD CONSTRAINT totals_pkey PRIMARY KEY (owner, list);
ALTER TABLE ONLY public.twin_contents
    ADD CONSTRAINT twin_contents_pkey PRIMARY KEY (owner, digest, part);
ALTER TABLE ONLY public.twin_parts
    ADD CONSTRAINT twin_parts_pkey PRIMARY KEY (owner, twin_id, path, since);
ALTER TABLE ONLY public.twin_versions
    ADD CONSTRAINT twin_versions_pkey PRIMARY KEY (owner, twin_id, version);
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
CREATE INDEX loose_contents_by_age ON public.loose_contents USING btree (at);
CREATE INDEX messages_branches ON public.messages USING btree (conversation_id, seq, branch_from) WHERE (branch_from IS NOT NULL);
CREATE INDEX messages_failed ON public.messages USING btree (conversation_id, seq) WHERE (status = 'failed'::text);
CREATE UNIQUE INDEX messages_in_order ON public.messages USING btree (conversation_id, seq);
CREATE INDEX messages_in_progress ON public.messages USING btree (id) WHERE (status = 'in_progress'::text);
CREATE INDEX messages_rated ON public.messages USING btree (owner, rated_at, id, rating, review_twin) WHERE (rated_at IS NOT NULL);
CREATE INDEX messages_unanswered ON public.messages USING btree (owner, unanswered, id, review_twin, created_at) WHERE (unanswered IS NOT NULL);
CREATE INDEX own_twins_by_name ON public.own_twins USING btree (owner, name, id) WHERE (version IS NOT NULL);
CREATE INDEX token_reservations_by_expiry ON public.token_reservations USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX token_sums_by_end ON public.token_sums USING btree (ends_at);
CREATE INDEX twin_parts_by_digest ON public.twin_parts USING btree (owner, digest);
CREATE INDEX twin_parts_by_text ON public.twin_parts USING btree (owner, text_digest);
ALTER TABLE ONLY public.conversation_pairs
    ADD CONSTRAINT conversation_pairs_pair_owner_conversation_id_fkey FOREIGN KEY (pair_owner, conversation_id) REFERENCES public.conversations(owner, id) ON DELETE CASCADE;
