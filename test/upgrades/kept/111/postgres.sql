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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8nqctag1m4em1vtx9k6mnjh', 'ended', 'read_only', 'twin_YLBeMf9', 'd5b1cd55fa50996b14071c3e2e32c1476c0f6d7187520a7527f1fcc4b4b3da3e', NULL, 1796025510224, NULL, NULL, 1796025510228, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8nqct920ejfxng1nxs82zax', 'main', 'full_access', 'twin_KgAMxEo', '586d6c388eb0dbeab3e42d5468878a6b26b7487cda85df165bd6c262cc360cc1', NULL, 1796025510178, NULL, 1796025510245, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8nqctaa881013qc3wx7xw6v', 'frugal', 'full_access', 'twin_mmFILZe', '4bf7ac6acab1443d8ed1289cc39014723d76bb7829a1930fc280975e8edb1d46', NULL, 1796025510218, NULL, 1796025510416, NULL, NULL, NULL, 1000, 1000000000000, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8nqct9w69agxk50hgxyfnqm', 'reader', 'read_only', 'twin_Me786QA', 'c371b1768d41054e4de2d9c593c566e6a75b0e31596de6b52c52bdc9d45a2057', NULL, 1796025510204, 1798617510204, 1796025511655, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8nqcta4b4gt92hphtb0ge09', 'small', 'full_access', 'twin_9i7htf1', '2ec210e152018719b5516785963f72e3241c47ff9e30c03cb32dd856612ec434', 50, 1796025510212, NULL, 1796025511657, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8nqctaw5hjr3vkw76xpsz15', 'rotated', 'read_only', 'twin_c2oS4Ek', 'ea146d57de23b18d759f46c5fdc97283878a498b40c58a194f155ba5b7f32c42', NULL, 1796025510236, NULL, 1796025511666, NULL, '6cc1b796ee433ddfd9ef908d49b83c2dc8f6a4908497d218fccacb842ed1f7af', 1796111910242, NULL, NULL, 10);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', 'e8ae19dfe54029292db915cc8d0ec2a8dc7846aa456e12d20a33f2557aa6d166', '', 'msg_01m8nqctg33teanxr5wtjst36w', 1796025570400);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8nqcvpge79wp0dkv7ctzf9e', 1796111911631);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8nqctbhfsr6gf8rhwj205yp/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8nqcvpn20fb9wrme4akxeef', 1796111911637);
INSERT INTO public.client_tokens VALUES ('4ed3a3cb4b53d158fc6790f73f1ad0f6f49bddd4a0bee907787604eee1d28dd4', 'alice', 'key_01m8nqctaa881013qc3wx7xw6v', '4bf7ac6acab1443d8ed1289cc39014723d76bb7829a1930fc280975e8edb1d46', 'user 2', NULL, 'full_access', 100, 1796025510420, 1796026110420, 20, 30);
INSERT INTO public.client_tokens VALUES ('9491007ca8d278a9c74d4e044fc32401694101e8e4375b2f83261798dad134a3', 'alice', 'key_01m8nqct920ejfxng1nxs82zax', '586d6c388eb0dbeab3e42d5468878a6b26b7487cda85df165bd6c262cc360cc1', 'user 1', '["echo","guide"]', 'full_access', 100, 1796025510568, 1796026110568, NULL, NULL);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8nqcv1z86j92a62stdmjdwh', 'b448341a706c3ae6766af6b14ef39b6f6d0983db5a45c83e45c921e37c8ff62f', 1796025510975);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8nqcv1z86j92a62stdmjdwh', 'a265c74852c3d6a32865f073fcc6f2c1e1dccdb0062aad5371149a9ffbe57356', 1796025510975);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqcvj719s38ndj47mnewf6', 'clerk', NULL, NULL, NULL, NULL, 4, NULL, 'msg_01m8nqcvksahakxsc7t28sc0m5', 1796025511545, 1796025511495, 1796025511556, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqcvm98nd1kkfgg270bea3', 'clerk', NULL, NULL, NULL, NULL, 2, NULL, 'msg_01m8nqcvmj3xhhthrw9xevdw56', 1796025511570, 1796025511561, 1796025511575, 'twin', NULL, 0, NULL, 1);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqcvpge79wp0dkv7ctzf9e', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1796025511631, 1796025511631, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqctdwe22shtat92n30f6k', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8nqctehb6w3c76m8vag0se0', 1796025510369, 1796025510332, 1796025510387, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqctg15g9x6kns4z13grrs', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8nqctg33teanxr5wtjst36w', 1796025510403, 1796025510401, 1796025510410, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqctbhfsr6gf8rhwj205yp', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 5, NULL, 'msg_01m8nqcvpn20fb9wrme4akxeef', 1796025511637, 1796025510257, 1796025511646, 'twin', NULL, 1, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqctgy3a9awrb06r9nmfc2', 'model', 'user 2', NULL, NULL, NULL, 2, NULL, 'msg_01m8nqcthk808g9b1x9qktaabx', 1796025510452, 1796025510430, 1796025510524, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqctpwbxeaxc2fhkytjt8e', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8nqcttg8vksj3rkj61mjsbp', 1796025510736, 1796025510620, 1796025510776, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqcty365n5w5ed463zesyg', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8nqcv1n1c708wq4fsg7sa98', 1796025510965, 1796025510851, 1796025510965, 'person', 1796025510965, 3, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqcv1z86j92a62stdmjdwh', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1796025510975, 1796025510988, 'twin', NULL, 0, '{"ticket":"4711","plan 🦜":""}', 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqcv72cmzm6kdt8k0hcjt1', 'own', NULL, NULL, NULL, NULL, 2, NULL, 'msg_01m8nqcv88bqxqy1ym8fh6fhze', 1796025511176, 1796025511132, 1796025511220, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8nqcva8dx69cp4v3hb7mdz4', 'clerk', 'user 1', NULL, NULL, NULL, 2, NULL, 'msg_01m8nqcvag1vcpeh1eyfk3fzmb', 1796025511248, 1796025511240, 1796025511479, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.deliveries VALUES ('dlv_01m8nqcvn9efe4q5c7td0jdchg01m8nqcvmx69946662cfn172hq', 'hook_01m8nqcvmx69946662cfn172hq', 'alice', 'message.said', 'conv_01m8nqctbhfsr6gf8rhwj205yp', 'msg_01m8nqcvn9efe4q5c7td0jdchf', 'echo', NULL, 'pending', 1, NULL, 1796025516603, 1796025516603, NULL, 1796025511595, 1796025511593);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1796025510823);
INSERT INTO public.loose_contents VALUES ('alice', 'e99aedb797ee1f5cc8ffb54345bdc38f7727bd3ab3233f5068d6c8f709c9197a', 1796025511005);
INSERT INTO public.loose_contents VALUES ('alice', '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 1796025511068);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1796025510596);
INSERT INTO public.messages VALUES ('msg_01m8nqctby26v0z4d94xbbjbkk', 'alice', 'conv_01m8nqctbhfsr6gf8rhwj205yp', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510271, 1796025510271, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctby26v0z4d94xbbjbkm', 'alice', 'conv_01m8nqctbhfsr6gf8rhwj205yp', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8nqctby26v0z4d94xbbjbkk', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1796025510271, 1796025510285, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcte11xe9z4vcd4h0papr', 'alice', 'conv_01m8nqctdwe22shtat92n30f6k', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510337, 1796025510337, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcte11xe9z4vcd4h0paps', 'alice', 'conv_01m8nqctdwe22shtat92n30f6k', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8nqcte11xe9z4vcd4h0papr', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1796025510337, 1796025510347, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctehb6w3c76m8vag0sdz', 'alice', 'conv_01m8nqctdwe22shtat92n30f6k', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8nqcte11xe9z4vcd4h0paps', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510353, 1796025510353, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctehb6w3c76m8vag0se0', 'alice', 'conv_01m8nqctdwe22shtat92n30f6k', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8nqctehb6w3c76m8vag0sdz', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1796025510353, 1796025510361, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctez85vfjwa2gsvxb0fw', 'alice', 'conv_01m8nqctdwe22shtat92n30f6k', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8nqcte11xe9z4vcd4h0paps', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510369, 1796025510369, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctez85vfjwa2gsvxb0fx', 'alice', 'conv_01m8nqctdwe22shtat92n30f6k', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8nqctez85vfjwa2gsvxb0fw', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1796025510369, 1796025510379, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctg33teanxr5wtjst36v', 'alice', 'conv_01m8nqctg15g9x6kns4z13grrs', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510403, 1796025510403, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctg33teanxr5wtjst36w', 'alice', 'conv_01m8nqctg15g9x6kns4z13grrs', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8nqctg33teanxr5wtjst36v', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1796025510403, 1796025510410, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcthk808g9b1x9qktaabw', 'alice', 'conv_01m8nqctgy3a9awrb06r9nmfc2', 0, 'user', 'Hello?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510452, 1796025510452, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcthk808g9b1x9qktaabx', 'alice', 'conv_01m8nqctgy3a9awrb06r9nmfc2', 1, 'assistant', '', 'failed', 'error', 'msg_01m8nqcthk808g9b1x9qktaabw', NULL, NULL, '{"code":"model_error","message":"The twin''s model failed to reply."}', NULL, '79f3d8ab9f9f23ad', 0, 1, NULL, 1796025510452, 1796025510524, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctq92z1xqrecag15jfa2', 'alice', 'conv_01m8nqctpwbxeaxc2fhkytjt8e', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510633, 1796025510633, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctq92z1xqrecag15jfa3', 'alice', 'conv_01m8nqctpwbxeaxc2fhkytjt8e', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8nqctq92z1xqrecag15jfa2', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.49}]', '746b8481b3479aa9', 0, 1, NULL, 1796025510633, 1796025510700, NULL, NULL, 0, 'up', 'Thanks 🙂', 1796025510718, NULL, 'guide', 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcttg8vksj3rkj61mjsbn', 'alice', 'conv_01m8nqctpwbxeaxc2fhkytjt8e', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8nqctq92z1xqrecag15jfa3', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510736, 1796025510736, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcttg8vksj3rkj61mjsbp', 'alice', 'conv_01m8nqctpwbxeaxc2fhkytjt8e', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8nqcttg8vksj3rkj61mjsbn', NULL, NULL, NULL, '[]', '746b8481b3479aa9', 0, 1, NULL, 1796025510736, 1796025510776, NULL, NULL, 0, 'down', NULL, 1796025510790, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctz99mb62ra2t3hyathm', 'alice', 'conv_01m8nqcty365n5w5ed463zesyg', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510889, 1796025510889, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqctz99mb62ra2t3hyathn', 'alice', 'conv_01m8nqcty365n5w5ed463zesyg', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8nqctz99mb62ra2t3hyathm', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1796025510889, 1796025510904, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcv0g3szbcv0h76ntps6b', 'alice', 'conv_01m8nqcty365n5w5ed463zesyg', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8nqctz99mb62ra2t3hyathn', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510928, 1796025510928, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva', NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcv148jc1engkczeega28', 'alice', 'conv_01m8nqcty365n5w5ed463zesyg', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8nqcv0g3szbcv0h76ntps6b', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510948, 1796025510948, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcv1n1c708wq4fsg7sa98', 'alice', 'conv_01m8nqcty365n5w5ed463zesyg', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8nqcv148jc1engkczeega28', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025510965, 1796025510965, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcv88bqxqy1ym8fh6fhzd', 'alice', 'conv_01m8nqcv72cmzm6kdt8k0hcjt1', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025511176, 1796025511176, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcv88bqxqy1ym8fh6fhze', 'alice', 'conv_01m8nqcv72cmzm6kdt8k0hcjt1', 1, 'assistant', 'We open at ten. 🦜', 'completed', 'stop', 'msg_01m8nqcv88bqxqy1ym8fh6fhzd', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.61}]', '11da424767b2f456', 0, 1, NULL, 1796025511176, 1796025511220, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvag1vcpeh1eyfk3fzma', 'alice', 'conv_01m8nqcva8dx69cp4v3hb7mdz4', 0, 'user', 'Find order 7.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025511248, 1796025511248, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvag1vcpeh1eyfk3fzmb', 'alice', 'conv_01m8nqcva8dx69cp4v3hb7mdz4', 1, 'assistant', '', 'completed', 'tool_calls', 'msg_01m8nqcvag1vcpeh1eyfk3fzma', NULL, NULL, NULL, NULL, 'a28f74e8a33dcc64', 1, 1, NULL, 1796025511248, 1796025511479, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, '[{"callId":"call-order","name":"orders/find","arguments":{"number":7}}]', '{"calls":[{"callId":"call-order","name":"orders/find","arguments":{"number":7}}],"state":"{\"message\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call-order\",\"type\":\"function\",\"function\":{\"name\":\"orders_find\",\"arguments\":\"{\\\"number\\\":7}\"}}]},\"ids\":[\"call-order\"],\"results\":{},\"hasText\":false,\"question\":\"Find order 7.\",\"earlier\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call-stock\",\"type\":\"function\",\"function\":{\"name\":\"stock_find\",\"arguments\":\"{\\\"number\\\":7}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"call-stock\",\"content\":\"Order 7 is sent.\"}]}"}', NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvjv6kthfk32fmq9nbzs', 'alice', 'conv_01m8nqcvj719s38ndj47mnewf6', 0, 'user', 'Find order 7.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025511515, 1796025511515, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvjv6kthfk32fmq9nbzt', 'alice', 'conv_01m8nqcvj719s38ndj47mnewf6', 1, 'assistant', '', 'completed', 'tool_calls', 'msg_01m8nqcvjv6kthfk32fmq9nbzs', NULL, NULL, NULL, NULL, 'a28f74e8a33dcc64', 1, 1, NULL, 1796025511515, 1796025511532, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, '{"calls":[{"callId":"call-order","name":"orders/find","arguments":{"number":7}}],"state":"{\"message\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call-order\",\"type\":\"function\",\"function\":{\"name\":\"orders_find\",\"arguments\":\"{\\\"number\\\":7}\"}}]},\"ids\":[\"call-order\"],\"results\":{},\"hasText\":false,\"question\":\"Find order 7.\",\"earlier\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call-stock\",\"type\":\"function\",\"function\":{\"name\":\"stock_find\",\"arguments\":\"{\\\"number\\\":7}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"call-stock\",\"content\":\"Order 7 is sent.\"}]}"}', NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvksahakxsc7t28sc0m4', 'alice', 'conv_01m8nqcvj719s38ndj47mnewf6', 2, 'user', 'Yes, please.', 'completed', NULL, 'msg_01m8nqcvjv6kthfk32fmq9nbzt', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025511545, 1796025511545, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"call-order":"approve"}');
INSERT INTO public.messages VALUES ('msg_01m8nqcvksahakxsc7t28sc0m5', 'alice', 'conv_01m8nqcvj719s38ndj47mnewf6', 3, 'assistant', 'It is sent.', 'completed', 'stop', 'msg_01m8nqcvksahakxsc7t28sc0m4', NULL, NULL, NULL, NULL, 'a28f74e8a33dcc64', 1, 1, NULL, 1796025511545, 1796025511556, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvmj3xhhthrw9xevdw55', 'alice', 'conv_01m8nqcvm98nd1kkfgg270bea3', 0, 'user', 'Is it forbidden?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025511570, 1796025511570, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, '', NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvmj3xhhthrw9xevdw56', 'alice', 'conv_01m8nqcvm98nd1kkfgg270bea3', 1, 'assistant', 'I can''t talk about that.', 'completed', 'content_filter', 'msg_01m8nqcvmj3xhhthrw9xevdw55', NULL, NULL, NULL, NULL, 'a28f74e8a33dcc64', 0, 1, NULL, 1796025511570, 1796025511575, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvn9efe4q5c7td0jdchf', 'alice', 'conv_01m8nqctbhfsr6gf8rhwj205yp', 2, 'assistant', 'Tell this.', 'completed', 'stop', 'msg_01m8nqctby26v0z4d94xbbjbkm', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025511593, 1796025511593, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvpn20fb9wrme4akxeee', 'alice', 'conv_01m8nqctbhfsr6gf8rhwj205yp', 3, 'user', 'Once.', 'completed', NULL, 'msg_01m8nqcvn9efe4q5c7td0jdchf', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1796025511637, 1796025511637, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8nqcvpn20fb9wrme4akxeef', 'alice', 'conv_01m8nqctbhfsr6gf8rhwj205yp', 4, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8nqcvpn20fb9wrme4akxeee', NULL, NULL, NULL, NULL, '0fdd2599709373d0', 0, 1, NULL, 1796025511637, 1796025511646, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.own_twins VALUES ('alice', 'own', 'Own', '{"description":null,"avatarUrl":null,"greeting":null,"tags":[],"handover":false}', 2, '11da424767b2f456', 2, 99, 1796025511005, 1796025511068);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 839921351, 1796025510240700, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8nqct920ejfxng1nxs82zax', 581590083, 1796025511862260, 500);
INSERT INTO public.rate_buckets VALUES ('key_01m8nqctaa881013qc3wx7xw6v/user 2', 71983254, 1796025510445587, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8nqctaa881013qc3wx7xw6v', 21572146, 1796025510445587, 500);
INSERT INTO public.rate_buckets VALUES ('webhooks:alice', 59993183, 1796025511586504, 120);
INSERT INTO public.rate_buckets VALUES ('key_01m8nqct920ejfxng1nxs82zax/user 1', 142935547, 1796025511674665, 100);
INSERT INTO public.schema_version VALUES (111, 110);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8nqctaa881013qc3wx7xw6v', '2026-11', 1796083200000, 30, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8nqctaa881013qc3wx7xw6v', '2026-11-30', 1796083200000, 20, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8nqctaa881013qc3wx7xw6v', '2026-11', 1796083200000, 1000000000000, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8nqctaa881013qc3wx7xw6v', '2026-11-30', 1796083200000, 1000, 0, 0, 0);
INSERT INTO public.totals VALUES ('alice', 'keys', 6);
INSERT INTO public.totals VALUES ('alice', 'conversations/model', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations/guide', 1);
INSERT INTO public.totals VALUES ('alice', 'changes of twins', 2);
INSERT INTO public.totals VALUES ('alice', 'conversations/own', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations/clerk', 3);
INSERT INTO public.totals VALUES ('alice', 'webhooks', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations', 12);
INSERT INTO public.totals VALUES ('alice', 'conversations/echo', 6);
INSERT INTO public.twin_contents VALUES ('alice', 'e99aedb797ee1f5cc8ffb54345bdc38f7727bd3ab3233f5068d6c8f709c9197a', 0, 'LS0tCm5hbWU6IE93bgplbmdpbmU6IGtub3dsZWRnZQotLS0KCiMjIE9wZW5pbmcgaG91cnMKCldlIG9wZW4gYXQgdGVuLiDwn6acCg==');
INSERT INTO public.twin_contents VALUES ('alice', '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 0, 'IyBDb2ZmZWUKClRocmVlIGV1cm9zLgo=');
INSERT INTO public.twin_parts VALUES ('alice', 'own', '', 1, NULL, 'e99aedb797ee1f5cc8ffb54345bdc38f7727bd3ab3233f5068d6c8f709c9197a', 76, 'e99aedb797ee1f5cc8ffb54345bdc38f7727bd3ab3233f5068d6c8f709c9197a', 76, 1796025511005);
INSERT INTO public.twin_parts VALUES ('alice', 'own', 'prices/2026.md', 2, NULL, '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 23, '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 23, 1796025511068);
INSERT INTO public.twin_versions VALUES ('alice', 'own', 1, 'e09d14aef128bb69', 'The first', 1796025511005);
INSERT INTO public.twin_versions VALUES ('alice', 'own', 2, '11da424767b2f456', NULL, 1796025511068);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 2', '2026-11-30', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'model', '2026-11-30', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'guide', '2026-11-30', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'own', '2026-11-30', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 1', '2026-11-30', 3, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'clerk', '2026-11-30', 4, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'day', '', '2026-11-30', 16, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', '', '2026-11-30', 12, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'echo', '2026-11-30', 8, 0, 0, 0);
INSERT INTO public.webhooks VALUES ('hook_01m8nqcvmx69946662cfn172hq', 'alice', 'http://127.0.0.1:9/', '["message.said"]', 'Nobody''s', 'whsec_OVn7Md74zt+S2dbGvne2TNEBtN0yoBA3rqzuD1hETYk=', 'whsec_RwIDnM7xxd5NgToabpSaT3H3eWj72UGT0oCyHSyB2Uc=', 1796111911587, 'active', 1796025511581);
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
CREATE INDEX own_twins_in_order ON public.own_twins USING btree (owner, name, id, version) WHERE (version IS NOT NULL);
CREATE INDEX token_reservations_by_expiry ON public.token_reservations USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX token_sums_by_end ON public.token_sums USING btree (ends_at);
CREATE INDEX twin_parts_by_digest ON public.twin_parts USING btree (owner, digest);
CREATE INDEX twin_parts_by_text ON public.twin_parts USING btree (owner, text_digest);
CREATE INDEX webhooks_by_owner ON public.webhooks USING btree (owner, created_at, id);
ALTER TABLE ONLY public.conversation_pairs
    ADD CONSTRAINT conversation_pairs_pair_owner_conversation_id_fkey FOREIGN KEY (pair_owner, conversation_id) REFERENCES public.conversations(owner, id) ON DELETE CASCADE;
