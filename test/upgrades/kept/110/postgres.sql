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
CREATE TABLE public.deliveries (
    id text NOT NULL COLLATE pg_catalog."C",
    webhook_id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    event text NOT NULL COLLATE pg_catalog."C",
    conversation_id text COLLATE pg_catalog."C",
    message_id text COLLATE pg_catalog."C",
    twin_id text COLLATE pg_catalog."C",
    end_user text COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    last_status bigint,
    next_attempt_at bigint,
    due_at bigint NOT NULL,
    lease_holder text COLLATE pg_catalog."C",
    tried_at bigint,
    created_at bigint NOT NULL
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
    told text COLLATE pg_catalog."C",
    pending_calls text COLLATE pg_catalog."C",
    call_state text COLLATE pg_catalog."C",
    decisions text COLLATE pg_catalog."C"
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
CREATE TABLE public.webhooks (
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    events text COLLATE pg_catalog."C",
    description text COLLATE pg_catalog."C",
    secret text NOT NULL COLLATE pg_catalog."C",
    previous_secret text COLLATE pg_catalog."C",
    previous_until bigint,
    status text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2pz9474b7zpf7qw4v5gwp', 'ended', 'read_only', 'twin_fIShsK4', '2430520d22a507223aec91a0774ae70e2fc001d4bcbc218d839df7b749588fe4', NULL, 1795903159588, NULL, NULL, 1795903159595, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2pz6fanm3whv67w81krxb', 'main', 'full_access', 'twin_jIHnTyc', 'cd69e67a259e1aa4d892f1dff4909391228a53f6675b5cc0fc773f63773aa24d', NULL, 1795903159503, NULL, 1795903159643, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2pz8r7zbxzta7dh9r348y', 'frugal', 'full_access', 'twin_auB96b6', '2934b0f0844fbee0f97986dc06b07e1aa45b6e68a8601efe0b3a1c11e090ed40', NULL, 1795903159576, NULL, 1795903159878, NULL, NULL, NULL, 1000, 1000000000000, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2pz7xd05djdd7rwktd6ab', 'reader', 'read_only', 'twin_9Ilvdkt', '4289a73a61e70318a2484813b5687f4bf0e26cc4f52b38b6a1e143c2135bccce', NULL, 1795903159549, 1798495159549, 1795903160302, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2pz8d7ksb2d6axxy4pfge', 'small', 'full_access', 'twin_4nwEUvC', '0a7d23938f96559f464626dabd5dba7a8ab37df1c2a999e0449193533be11952', 50, 1795903159565, NULL, 1795903160305, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2pza50r98adqrc935j7by', 'rotated', 'read_only', 'twin_s7nQysG', '5f04cc10ac2da1b54501f55b293f039dc898b28792edc6e9ce28adbeaffd8c67', NULL, 1795903159621, NULL, 1795903160316, NULL, 'b0f853605400a7b4a30bcc4a57d782abbe8cfe946a9ad8c4b20250f888bce2d2', 1795989559634, NULL, NULL, 10);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', '0d62b5dd6c5f398ed48a6b16caae1312b1d270b3083713007b6d164f13e8e02b', '', 'msg_01m8j2pzhxbazx97wj134gke0c', 1795903219866);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8j2pzyda1074bn45qrk9gea', 1795989560267);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8j2pzct0mxqe4mmcdeqsmgj/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8j2pzyt1jpfj2eez0rjbjk6', 1795989560282);
INSERT INTO public.client_tokens VALUES ('cb7612831a2d39a0d6943da6ee7fe3a77e348ddba91f594a939f2c2594be8f77', 'alice', 'key_01m8j2pz8r7zbxzta7dh9r348y', '2934b0f0844fbee0f97986dc06b07e1aa45b6e68a8601efe0b3a1c11e090ed40', 'user 2', NULL, 'full_access', 100, 1795903159882, 1795903759882, 20, 30);
INSERT INTO public.client_tokens VALUES ('6656d907ef86696798a3c0f56260cb9de1f20a070b48de31d96ada7eb8a458ff', 'alice', 'key_01m8j2pz6fanm3whv67w81krxb', 'cd69e67a259e1aa4d892f1dff4909391228a53f6675b5cc0fc773f63773aa24d', 'user 1', '["echo","guide"]', 'full_access', 100, 1795903159922, 1795903759922, NULL, NULL);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8j2pzrraxqpe6t39ae3637x', 'b448341a706c3ae6766af6b14ef39b6f6d0983db5a45c83e45c921e37c8ff62f', 1795903160088);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8j2pzrraxqpe6t39ae3637x', 'a265c74852c3d6a32865f073fcc6f2c1e1dccdb0062aad5371149a9ffbe57356', 1795903160088);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzg04ncja5bdfagsf09e', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8j2pzgkeq82a6201yg74h8y', 1795903159840, 1795903159808, 1795903159858, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzhv1b51pykrbjpgp3eq', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8j2pzhxbazx97wj134gke0c', 1795903159869, 1795903159867, 1795903159873, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzjm6zy7g6thne5h4w60', 'model', 'user 2', NULL, NULL, NULL, 2, NULL, 'msg_01m8j2pzjv4b669bgj70w9b51g', 1795903159899, 1795903159892, 1795903159909, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzky8q9bmgh89a5jbrtz', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8j2pznd7ermj7xgw9b7rfx5', 1795903159982, 1795903159934, 1795903160007, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzqkbfkd2h7dn30d9s52', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8j2pzrkaqjv5dtg7rsptx5s', 1795903160083, 1795903160051, 1795903160083, 'person', 1795903160083, 3, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzrraxqpe6t39ae3637x', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795903160088, 1795903160101, 'twin', NULL, 0, '{"ticket":"4711","plan 🦜":""}', 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzttd33fmnbbnddry1fx', 'own', NULL, NULL, NULL, NULL, 2, NULL, 'msg_01m8j2pzvbbrwb50dmc7mw5gba', 1795903160171, 1795903160150, 1795903160179, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzyda1074bn45qrk9gea', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795903160267, 1795903160267, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2pzct0mxqe4mmcdeqsmgj', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 5, NULL, 'msg_01m8j2pzyt1jpfj2eez0rjbjk6', 1795903160282, 1795903159706, 1795903160291, 'twin', NULL, 1, NULL, 0);
INSERT INTO public.deliveries VALUES ('dlv_01m8j2pzwa5313jvvymhmdtady01m8j2pzvw38kpb8hqkv40t3p2', 'hook_01m8j2pzvw38kpb8hqkv40t3p2', 'alice', 'message.said', 'conv_01m8j2pzct0mxqe4mmcdeqsmgj', 'msg_01m8j2pzwa5313jvvymhmdtadx', 'echo', NULL, 'pending', 1, NULL, 1795903165218, 1795903165218, NULL, 1795903160206, 1795903160202);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795903160041);
INSERT INTO public.loose_contents VALUES ('alice', '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 1795903160110);
INSERT INTO public.loose_contents VALUES ('alice', '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 1795903160140);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795903159927);
INSERT INTO public.messages VALUES ('msg_01m8j2pzdj6vdb72vt7hrbm4yf', 'alice', 'conv_01m8j2pzct0mxqe4mmcdeqsmgj', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903159730, 1795903159730, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzdj6vdb72vt7hrbm4yg', 'alice', 'conv_01m8j2pzct0mxqe4mmcdeqsmgj', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8j2pzdj6vdb72vt7hrbm4yf', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1795903159730, 1795903159740, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzga3wdzhmejc4n7r36h', 'alice', 'conv_01m8j2pzg04ncja5bdfagsf09e', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903159818, 1795903159818, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzga3wdzhmejc4n7r36j', 'alice', 'conv_01m8j2pzg04ncja5bdfagsf09e', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8j2pzga3wdzhmejc4n7r36h', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1795903159818, 1795903159820, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzgkeq82a6201yg74h8x', 'alice', 'conv_01m8j2pzg04ncja5bdfagsf09e', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8j2pzga3wdzhmejc4n7r36j', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903159827, 1795903159827, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzgkeq82a6201yg74h8y', 'alice', 'conv_01m8j2pzg04ncja5bdfagsf09e', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8j2pzgkeq82a6201yg74h8x', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1795903159827, 1795903159829, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzgwc6gp8jbhzmmegt39', 'alice', 'conv_01m8j2pzg04ncja5bdfagsf09e', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8j2pzga3wdzhmejc4n7r36j', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903159840, 1795903159840, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzgwc6gp8jbhzmmegt3a', 'alice', 'conv_01m8j2pzg04ncja5bdfagsf09e', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8j2pzgwc6gp8jbhzmmegt39', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1795903159840, 1795903159848, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzhxbazx97wj134gke0b', 'alice', 'conv_01m8j2pzhv1b51pykrbjpgp3eq', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903159869, 1795903159869, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzhxbazx97wj134gke0c', 'alice', 'conv_01m8j2pzhv1b51pykrbjpgp3eq', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8j2pzhxbazx97wj134gke0b', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1795903159869, 1795903159873, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzjv4b669bgj70w9b51f', 'alice', 'conv_01m8j2pzjm6zy7g6thne5h4w60', 0, 'user', 'Hello?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903159899, 1795903159899, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzjv4b669bgj70w9b51g', 'alice', 'conv_01m8j2pzjm6zy7g6thne5h4w60', 1, 'assistant', '', 'failed', 'error', 'msg_01m8j2pzjv4b669bgj70w9b51f', NULL, NULL, '{"code":"model_error","message":"The twin''s model failed to reply."}', NULL, '79f3d8ab9f9f23ad', 0, 1, NULL, 1795903159899, 1795903159909, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzm4b4xg184awqnse9ek', 'alice', 'conv_01m8j2pzky8q9bmgh89a5jbrtz', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903159940, 1795903159940, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzm4b4xg184awqnse9em', 'alice', 'conv_01m8j2pzky8q9bmgh89a5jbrtz', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8j2pzm4b4xg184awqnse9ek', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.49}]', '746b8481b3479aa9', 0, 1, NULL, 1795903159940, 1795903159963, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795903159974, NULL, 'guide', 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pznd7ermj7xgw9b7rfx4', 'alice', 'conv_01m8j2pzky8q9bmgh89a5jbrtz', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8j2pzm4b4xg184awqnse9em', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903159982, 1795903159982, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pznd7ermj7xgw9b7rfx5', 'alice', 'conv_01m8j2pzky8q9bmgh89a5jbrtz', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8j2pznd7ermj7xgw9b7rfx4', NULL, NULL, NULL, '[]', '746b8481b3479aa9', 0, 1, NULL, 1795903159982, 1795903160007, NULL, NULL, 0, 'down', NULL, 1795903160026, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzqragrx1537fa9yz9k2', 'alice', 'conv_01m8j2pzqkbfkd2h7dn30d9s52', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903160056, 1795903160056, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzqragrx1537fa9yz9k3', 'alice', 'conv_01m8j2pzqkbfkd2h7dn30d9s52', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8j2pzqragrx1537fa9yz9k2', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1795903160056, 1795903160059, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzr10nv1cfkdx98rhndk', 'alice', 'conv_01m8j2pzqkbfkd2h7dn30d9s52', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8j2pzqragrx1537fa9yz9k3', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903160065, 1795903160065, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva', NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzrb1fr94gqse576hnsp', 'alice', 'conv_01m8j2pzqkbfkd2h7dn30d9s52', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8j2pzr10nv1cfkdx98rhndk', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903160075, 1795903160075, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzrkaqjv5dtg7rsptx5s', 'alice', 'conv_01m8j2pzqkbfkd2h7dn30d9s52', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8j2pzrb1fr94gqse576hnsp', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903160083, 1795903160083, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzvbbrwb50dmc7mw5gb9', 'alice', 'conv_01m8j2pzttd33fmnbbnddry1fx', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903160171, 1795903160171, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzvbbrwb50dmc7mw5gba', 'alice', 'conv_01m8j2pzttd33fmnbbnddry1fx', 1, 'assistant', 'We open at ten. 🦜', 'completed', 'stop', 'msg_01m8j2pzvbbrwb50dmc7mw5gb9', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.61}]', '4e54dcf5613bf410', 0, 1, NULL, 1795903160171, 1795903160179, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzwa5313jvvymhmdtadx', 'alice', 'conv_01m8j2pzct0mxqe4mmcdeqsmgj', 2, 'assistant', 'Tell this.', 'completed', 'stop', 'msg_01m8j2pzdj6vdb72vt7hrbm4yg', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903160202, 1795903160202, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzyt1jpfj2eez0rjbjk5', 'alice', 'conv_01m8j2pzct0mxqe4mmcdeqsmgj', 3, 'user', 'Once.', 'completed', NULL, 'msg_01m8j2pzwa5313jvvymhmdtadx', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795903160282, 1795903160282, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2pzyt1jpfj2eez0rjbjk6', 'alice', 'conv_01m8j2pzct0mxqe4mmcdeqsmgj', 4, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8j2pzyt1jpfj2eez0rjbjk5', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1795903160282, 1795903160291, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.own_twins VALUES ('alice', 'own', 'Own', '{"description":null,"avatarUrl":null,"greeting":null,"tags":[],"handover":false}', 2, '4e54dcf5613bf410', 2, 81, 1795903160110, 1795903160140);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 839868536, 1795903159629871, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8j2pz8r7zbxzta7dh9r348y/user 2', 71992442, 1795903159897237, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8j2pz8r7zbxzta7dh9r348y', 21583469, 1795903159897237, 500);
INSERT INTO public.rate_buckets VALUES ('webhooks:alice', 59992260, 1795903160193721, 120);
INSERT INTO public.rate_buckets VALUES ('key_01m8j2pz6fanm3whv67w81krxb/user 1', 143608211, 1795903160324896, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8j2pz6fanm3whv67w81krxb', 467116546, 1795903160581796, 500);
INSERT INTO public.schema_version VALUES (110, 110);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8j2pz8r7zbxzta7dh9r348y', '2026-11', 1796083200000, 30, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8j2pz8r7zbxzta7dh9r348y', '2026-11-28', 1795910400000, 20, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8j2pz8r7zbxzta7dh9r348y', '2026-11', 1796083200000, 1000000000000, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8j2pz8r7zbxzta7dh9r348y', '2026-11-28', 1795910400000, 1000, 0, 0, 0);
INSERT INTO public.totals VALUES ('alice', 'keys', 6);
INSERT INTO public.totals VALUES ('alice', 'conversations/model', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations/guide', 1);
INSERT INTO public.totals VALUES ('alice', 'changes of twins', 2);
INSERT INTO public.totals VALUES ('alice', 'conversations/own', 1);
INSERT INTO public.totals VALUES ('alice', 'webhooks', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations', 9);
INSERT INTO public.totals VALUES ('alice', 'conversations/echo', 6);
INSERT INTO public.twin_contents VALUES ('alice', '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 0, 'LS0tCm5hbWU6IE93bgotLS0KCiMjIE9wZW5pbmcgaG91cnMKCldlIG9wZW4gYXQgdGVuLiDwn6acCg==');
INSERT INTO public.twin_contents VALUES ('alice', '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 0, 'IyBDb2ZmZWUKClRocmVlIGV1cm9zLgo=');
INSERT INTO public.twin_parts VALUES ('alice', 'own', '', 1, NULL, '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 58, '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 58, 1795903160110);
INSERT INTO public.twin_parts VALUES ('alice', 'own', 'prices/2026.md', 2, NULL, '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 23, '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 23, 1795903160140);
INSERT INTO public.twin_versions VALUES ('alice', 'own', 1, '36b1968290af7a87', 'The first', 1795903160110);
INSERT INTO public.twin_versions VALUES ('alice', 'own', 2, '4e54dcf5613bf410', NULL, 1795903160140);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 2', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'model', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 1', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'guide', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'own', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'day', '', '2026-11-28', 12, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', '', '2026-11-28', 9, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'echo', '2026-11-28', 8, 0, 0, 0);
INSERT INTO public.webhooks VALUES ('hook_01m8j2pzvw38kpb8hqkv40t3p2', 'alice', 'http://127.0.0.1:9/', '["message.said"]', 'Nobody''s', 'whsec_aBJ8XZ+z12Cne67gaLXjq/mkOwdSGBmDK1B+OhFQLuU=', 'whsec_zHTaC5Tsd+gFNTT27V0eIVBNlUwu1HYI/Mqr3SJecmk=', 1795989560194, 'active', 1795903160188);
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
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);
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
CREATE INDEX deliveries_by_age ON public.deliveries USING btree (created_at);
CREATE INDEX deliveries_in_order ON public.deliveries USING btree (webhook_id, created_at, id);
CREATE INDEX deliveries_leased ON public.deliveries USING btree (lease_holder) WHERE (lease_holder IS NOT NULL);
CREATE INDEX deliveries_of_person ON public.deliveries USING btree (owner, end_user) WHERE (end_user IS NOT NULL);
CREATE INDEX deliveries_waiting ON public.deliveries USING btree (webhook_id, due_at, id) WHERE (status = 'pending'::text);
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
CREATE INDEX webhooks_by_owner ON public.webhooks USING btree (owner, created_at, id);
ALTER TABLE ONLY public.conversation_pairs
    ADD CONSTRAINT conversation_pairs_pair_owner_conversation_id_fkey FOREIGN KEY (pair_owner, conversation_id) REFERENCES public.conversations(owner, id) ON DELETE CASCADE;
