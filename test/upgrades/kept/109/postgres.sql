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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2677earjyzrawk424vm5w', 'ended', 'read_only', 'twin_9GlIvef', '8e251c3313f632a6f86f488749ae5560ec89b217b4f1c0bd7901e2f3519598d6', NULL, 1795902610670, NULL, NULL, 1795902610688, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2674ccgdrgcd2r0wbm7wm', 'main', 'full_access', 'twin_RtJVYwa', 'b3c898f5f51320bd87576c7c2356e984a5d4c8e79ce87532b0280495b53dc74d', NULL, 1795902610572, NULL, 1795902610724, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2676q821adc0egzwf65p1', 'frugal', 'full_access', 'twin_QRhO8Yw', '2f2d062cc970675e6d7c5917a4683ffd6df5aa2d30967e1ce6ade7a6a400148d', NULL, 1795902610647, NULL, 1795902611153, NULL, NULL, NULL, 1000, 1000000000000, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2675e7zafqwkqvtgz43ee', 'reader', 'read_only', 'twin_TVmqrpv', '641501c2ad62c2f504f876713fcecd3ee0e875db4042c126b23c403f2a5443a3', NULL, 1795902610606, 1798494610606, 1795902612585, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2676a4gndg9t8ffq81q20', 'small', 'full_access', 'twin_YLknEEL', '62bf626db7865e22469650905137b3cd238c1193c638ee051cafd7a2b6d92f10', 50, 1795902610634, NULL, 1795902612602, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8j2678840zhtmrmjstnrkxz', 'rotated', 'read_only', 'twin_YioVeh8', '5b6617e924e726ce6405ae63eb671497ac237bcc63c3bcd963ded253e7131b97', NULL, 1795902610696, NULL, 1795902612632, NULL, '0f14694e0e65f9bf0f48d39c347e6703e69336a6f0137d377195a9173771f296', 1795989010709, NULL, NULL, 10);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', 'a2373cfa12773bef4e13f6a4b1d6a124c0e8a4859ae60b662faae37f004ae399', '', 'msg_01m8j267nq8zyy120msc71f7hp', 1795902671102);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8j2690k6p76d28xm4400sma', 1795989012498);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8j2679wb5r6x6pymj6cadtd/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8j2691v9vd08zeh4yzwrvyy', 1795989012538);
INSERT INTO public.client_tokens VALUES ('755e90a7acb4b2a5d12e72c8199d1a8c136129a5a9f40d971f6cbb11198dfe94', 'alice', 'key_01m8j2676q821adc0egzwf65p1', '2f2d062cc970675e6d7c5917a4683ffd6df5aa2d30967e1ce6ade7a6a400148d', 'user 2', NULL, 'full_access', 100, 1795902611159, 1795903211159, 20, 30);
INSERT INTO public.client_tokens VALUES ('9de2283813aacf78ae40905ff1201dea1a03d53dd1c3122c433d6238624ee9d9', 'alice', 'key_01m8j2674ccgdrgcd2r0wbm7wm', 'b3c898f5f51320bd87576c7c2356e984a5d4c8e79ce87532b0280495b53dc74d', 'user 1', '["echo","guide"]', 'full_access', 100, 1795902611287, 1795903211287, NULL, NULL);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8j268ggbgwkre5zjb8yse9k', 'b448341a706c3ae6766af6b14ef39b6f6d0983db5a45c83e45c921e37c8ff62f', 1795902611984);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8j268ggbgwkre5zjb8yse9k', 'a265c74852c3d6a32865f073fcc6f2c1e1dccdb0062aad5371149a9ffbe57356', 1795902611984);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j267eya5wmgrt6g0y4x80z', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8j267h6em1wj40stckmxcy0', 1795902611012, 1795902610910, 1795902611072, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j267n52e3z270tqp3g50mw', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8j267nq8zyy120msc71f7hp', 1795902611127, 1795902611109, 1795902611141, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j267qpd0g261xew7cqkgme', 'model', 'user 2', NULL, NULL, NULL, 2, NULL, 'msg_01m8j267rmdx2q9hnsz5c9adg6', 1795902611220, 1795902611190, 1795902611246, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j267wsb6zjm915yd7ssj5d', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8j2683e5egqg9d5jt231xrn', 1795902611566, 1795902611353, 1795902611641, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j268b99f3sqvetb7sahaqp', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8j268f7cccryh4hkenr9x07', 1795902611943, 1795902611817, 1795902611943, 'person', 1795902611943, 3, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j268ggbgwkre5zjb8yse9k', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795902611984, 1795902612010, 'twin', NULL, 0, '{"ticket":"4711","plan 🦜":""}', 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j268r1adpfwnb07nb2sffp', 'own', NULL, NULL, NULL, NULL, 2, NULL, 'msg_01m8j268sfacb4k57n1gt4ycaw', 1795902612271, 1795902612209, 1795902612314, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2690k6p76d28xm4400sma', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795902612498, 1795902612498, 'twin', NULL, 0, NULL, 0);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8j2679wb5r6x6pymj6cadtd', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 5, NULL, 'msg_01m8j2691v9vd08zeh4yzwrvyy', 1795902612539, 1795902610747, 1795902612549, 'twin', NULL, 1, NULL, 0);
INSERT INTO public.deliveries VALUES ('dlv_01m8j268yn338ebdpzg7j86hyf01m8j268whd653hpvbrh8fb54m', 'hook_01m8j268whd653hpvbrh8fb54m', 'alice', 'message.said', 'conv_01m8j2679wb5r6x6pymj6cadtd', 'msg_01m8j268yn338ebdpzg7j86hye', 'echo', NULL, 'pending', 1, NULL, 1795902617453, 1795902617453, NULL, 1795902612445, 1795902612437);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795902611772);
INSERT INTO public.loose_contents VALUES ('alice', '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 1795902612031);
INSERT INTO public.loose_contents VALUES ('alice', '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 1795902612139);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795902611326);
INSERT INTO public.messages VALUES ('msg_01m8j267aj4szbggybe6x35zvn', 'alice', 'conv_01m8j2679wb5r6x6pymj6cadtd', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902610771, 1795902610771, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267aj4szbggybe6x35zvp', 'alice', 'conv_01m8j2679wb5r6x6pymj6cadtd', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8j267aj4szbggybe6x35zvn', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795902610771, 1795902610795, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267fxee68mv9dzdqwvqjj', 'alice', 'conv_01m8j267eya5wmgrt6g0y4x80z', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902610941, 1795902610941, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267fxee68mv9dzdqwvqjk', 'alice', 'conv_01m8j267eya5wmgrt6g0y4x80z', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8j267fxee68mv9dzdqwvqjj', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795902610941, 1795902610957, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267h6em1wj40stckmxcxz', 'alice', 'conv_01m8j267eya5wmgrt6g0y4x80z', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8j267fxee68mv9dzdqwvqjk', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902610982, 1795902610982, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267h6em1wj40stckmxcy0', 'alice', 'conv_01m8j267eya5wmgrt6g0y4x80z', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8j267h6em1wj40stckmxcxz', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795902610982, 1795902610990, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267j26nhw2st52255mqrr', 'alice', 'conv_01m8j267eya5wmgrt6g0y4x80z', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8j267fxee68mv9dzdqwvqjk', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611012, 1795902611012, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267j26nhw2st52255mqrs', 'alice', 'conv_01m8j267eya5wmgrt6g0y4x80z', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8j267j26nhw2st52255mqrr', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795902611012, 1795902611031, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267nq8zyy120msc71f7hn', 'alice', 'conv_01m8j267n52e3z270tqp3g50mw', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611127, 1795902611127, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267nq8zyy120msc71f7hp', 'alice', 'conv_01m8j267n52e3z270tqp3g50mw', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8j267nq8zyy120msc71f7hn', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795902611127, 1795902611141, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267rmdx2q9hnsz5c9adg5', 'alice', 'conv_01m8j267qpd0g261xew7cqkgme', 0, 'user', 'Hello?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611220, 1795902611220, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267rmdx2q9hnsz5c9adg6', 'alice', 'conv_01m8j267qpd0g261xew7cqkgme', 1, 'assistant', '', 'failed', 'error', 'msg_01m8j267rmdx2q9hnsz5c9adg5', NULL, NULL, '{"code":"model_error","message":"The twin''s model failed to reply."}', NULL, 'cd59823ce92aaf3c', 0, 1, NULL, 1795902611220, 1795902611246, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267xn7h6tnst5efxzqr16', 'alice', 'conv_01m8j267wsb6zjm915yd7ssj5d', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611381, 1795902611381, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j267xn7h6tnst5efxzqr17', 'alice', 'conv_01m8j267wsb6zjm915yd7ssj5d', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8j267xn7h6tnst5efxzqr16', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.49}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795902611381, 1795902611502, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795902611526, NULL, 'guide', 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2683e5egqg9d5jt231xrm', 'alice', 'conv_01m8j267wsb6zjm915yd7ssj5d', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8j267xn7h6tnst5efxzqr17', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611566, 1795902611566, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2683e5egqg9d5jt231xrn', 'alice', 'conv_01m8j267wsb6zjm915yd7ssj5d', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8j2683e5egqg9d5jt231xrm', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795902611566, 1795902611641, NULL, NULL, 0, 'down', NULL, 1795902611705, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j268c10h3hy4qgvysnj25e', 'alice', 'conv_01m8j268b99f3sqvetb7sahaqp', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611841, 1795902611841, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j268c10h3hy4qgvysnj25f', 'alice', 'conv_01m8j268b99f3sqvetb7sahaqp', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8j268c10h3hy4qgvysnj25e', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795902611841, 1795902611849, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j268cp7raastmezgkw1xz9', 'alice', 'conv_01m8j268b99f3sqvetb7sahaqp', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8j268c10h3hy4qgvysnj25f', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611862, 1795902611862, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva', NULL);
INSERT INTO public.messages VALUES ('msg_01m8j268df90j78n2kqe1wtw8y', 'alice', 'conv_01m8j268b99f3sqvetb7sahaqp', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8j268cp7raastmezgkw1xz9', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611887, 1795902611887, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j268f7cccryh4hkenr9x07', 'alice', 'conv_01m8j268b99f3sqvetb7sahaqp', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8j268df90j78n2kqe1wtw8y', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902611943, 1795902611943, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j268sfacb4k57n1gt4ycav', 'alice', 'conv_01m8j268r1adpfwnb07nb2sffp', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902612271, 1795902612271, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j268sfacb4k57n1gt4ycaw', 'alice', 'conv_01m8j268r1adpfwnb07nb2sffp', 1, 'assistant', 'We open at ten. 🦜', 'completed', 'stop', 'msg_01m8j268sfacb4k57n1gt4ycav', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.61}]', '4e54dcf5613bf410', 0, 1, NULL, 1795902612271, 1795902612314, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j268yn338ebdpzg7j86hye', 'alice', 'conv_01m8j2679wb5r6x6pymj6cadtd', 2, 'assistant', 'Tell this.', 'completed', 'stop', 'msg_01m8j267aj4szbggybe6x35zvp', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902612437, 1795902612437, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2691v9vd08zeh4yzwrvyx', 'alice', 'conv_01m8j2679wb5r6x6pymj6cadtd', 3, 'user', 'Once.', 'completed', NULL, 'msg_01m8j268yn338ebdpzg7j86hye', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795902612539, 1795902612539, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.messages VALUES ('msg_01m8j2691v9vd08zeh4yzwrvyy', 'alice', 'conv_01m8j2679wb5r6x6pymj6cadtd', 4, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8j2691v9vd08zeh4yzwrvyx', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795902612539, 1795902612549, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO public.own_twins VALUES ('alice', 'own', 'Own', '{"description":null,"avatarUrl":null,"greeting":null,"tags":[],"handover":false}', 2, '4e54dcf5613bf410', 2, 81, 1795902612031, 1795902612139);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 839849369, 1795902610707308, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8j2676q821adc0egzwf65p1/user 2', 71970508, 1795902611212888, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8j2676q821adc0egzwf65p1', 21542183, 1795902611212888, 500);
INSERT INTO public.rate_buckets VALUES ('webhooks:alice', 59980930, 1795902612380469, 120);
INSERT INTO public.rate_buckets VALUES ('key_01m8j2674ccgdrgcd2r0wbm7wm/user 1', 142682504, 1795902612657158, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8j2674ccgdrgcd2r0wbm7wm', 465413197, 1795902613323474, 500);
INSERT INTO public.schema_version VALUES (109, 109);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8j2676q821adc0egzwf65p1', '2026-11', 1796083200000, 30, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8j2676q821adc0egzwf65p1', '2026-11-28', 1795910400000, 20, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8j2676q821adc0egzwf65p1', '2026-11', 1796083200000, 1000000000000, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8j2676q821adc0egzwf65p1', '2026-11-28', 1795910400000, 1000, 0, 0, 0);
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
INSERT INTO public.twin_parts VALUES ('alice', 'own', '', 1, NULL, '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 58, '56fbcae5431acab5a767352f8197f078a820194a0d09339f231b883bb9b1a4e2', 58, 1795902612031);
INSERT INTO public.twin_parts VALUES ('alice', 'own', 'prices/2026.md', 2, NULL, '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 23, '00b2d351f6791e67519fdce59b2e9b6125f7ab32e3125d90cf2b0c0cca58e4ea', 23, 1795902612139);
INSERT INTO public.twin_versions VALUES ('alice', 'own', 1, '36b1968290af7a87', 'The first', 1795902612031);
INSERT INTO public.twin_versions VALUES ('alice', 'own', 2, '4e54dcf5613bf410', NULL, 1795902612139);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 2', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'model', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', 'user 1', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'guide', '2026-11-28', 2, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'own', '2026-11-28', 1, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'day', '', '2026-11-28', 12, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'endUser', '', '2026-11-28', 9, 0, 0, 0);
INSERT INTO public.usage_sums VALUES ('alice', 'twin', 'echo', '2026-11-28', 8, 0, 0, 0);
INSERT INTO public.webhooks VALUES ('hook_01m8j268whd653hpvbrh8fb54m', 'alice', 'http://127.0.0.1:9/', '["message.said"]', 'Nobody''s', 'whsec_57wLzzTL0Wf/YJfQmiIuv0Z3+2zYjJDKuRrN8DF0lzk=', 'whsec_Z5dqIH1fM7xcc2hOg+e/XajVETGXGDAslAh2K27vudA=', 1795989012389, 'active', 1795902612369);
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
