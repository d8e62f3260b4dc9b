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
    metadata text COLLATE pg_catalog."C"
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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hy4g5tcywggkka08jaep35', 'ended', 'read_only', 'twin_DcBQ9sh', '82a61c6efa52c7f9ea009f46a9083472618869753b53e5168b7254cb901e6ead', NULL, 1795898359994, NULL, NULL, 1795898360080, NULL, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hy4fm703zfqz1dnfjn3m4y', 'main', 'full_access', 'twin_mSB0nEj', '6b9b15314b084b5cb81c4d53ba18b82b9ac445256b6d4eaf9d97f79a6e126c87', NULL, 1795898359431, NULL, 1795898360161, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hy4ft49k51a7n14552b31r', 'reader', 'read_only', 'twin_aJkcQV4', '361cd3d9b12e3d1611977314217fc6c3aeb1bb471aea16fda28cede0757e40c8', NULL, 1795898359620, 1798490359620, 1795898362023, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hy4fz05yvcj651jr42d2cw', 'small', 'full_access', 'twin_8Zrjk3J', '6193c1ab0f6d5ffbada3ac3513702ce2c5551ca927c5458fcae25f2bc04d31fc', 50, 1795898359776, NULL, 1795898362039, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hy4g8xej8rxdwfx5mzqhmf', 'rotated', 'read_only', 'twin_FwctbHB', '3b5fb2c5491cb5f96291ef0f97629baae4a2f0bdf25cd3f544ca092b82a71fab', NULL, 1795898360093, NULL, 1795898362065, NULL, '0c25878c783380a5cf882886fd5192b25e6338151e3d984bfa6e7508318d9c00', 1795984760140);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', 'aa68a6dfb91500ca256793d2c2c875809bced4c21f415dcd2beabb48e4dd537d', '', 'msg_01m8hy4h332ff10dexcm0syebb', 1795898420923);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8hy4j1ge9dxrm26medc5j4w', 1795984761900);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8hy4gc20rqqajeaxhd6prqg/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8hy4j2m1694k8c85ym04v4k', 1795984761937);
INSERT INTO public.client_tokens VALUES ('6159eccf1b7636d34900d6bd5d9612b97c1aaf0b9fe1a476999556a5716aa5d2', 'alice', 'key_01m8hy4fm703zfqz1dnfjn3m4y', '6b9b15314b084b5cb81c4d53ba18b82b9ac445256b6d4eaf9d97f79a6e126c87', 'user 1', '["echo","guide"]', 'full_access', 100, 1795898360971, 1795898960971);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8hy4hz80p92njr25g7xy41t', 'b448341a706c3ae6766af6b14ef39b6f6d0983db5a45c83e45c921e37c8ff62f', 1795898361832);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8hy4hz80p92njr25g7xy41t', 'a265c74852c3d6a32865f073fcc6f2c1e1dccdb0062aad5371149a9ffbe57356', 1795898361832);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hy4gpg3xe1s7qcpefctrty', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8hy4gvk4gb01ayv0y57c7s6', 1795898360829, 1795898360528, 1795898360905, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hy4h2y1kr186sw4dhzy1zt', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8hy4h332ff10dexcm0syebb', 1795898360931, 1795898360926, 1795898360948, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hy4h5n5bqmf13qe7qy617p', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8hy4hfd03xg6amq343nj86w', 1795898361325, 1795898361013, 1795898361424, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hy4hqkbj876brajxw2rh26', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8hy4hxg5bzrwaf3kfhw15mm', 1795898361776, 1795898361587, 1795898361776, 'person', 1795898361776, 3, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hy4hz80p92njr25g7xy41t', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795898361832, 1795898361872, 'twin', NULL, 0, '{"ticket":"4711","plan 🦜":""}');
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hy4j1ge9dxrm26medc5j4w', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795898361900, 1795898361900, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hy4gc20rqqajeaxhd6prqg', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8hy4j2m1694k8c85ym04v4k', 1795898361940, 1795898360194, 1795898361958, 'twin', NULL, 0, NULL);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795898361515);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795898360997);
INSERT INTO public.messages VALUES ('msg_01m8hy4gf4dqcwggcwr5419h8s', 'alice', 'conv_01m8hy4gc20rqqajeaxhd6prqg', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898360292, 1795898360292, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4gf4dqcwggcwr5419h8t', 'alice', 'conv_01m8hy4gc20rqqajeaxhd6prqg', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8hy4gf4dqcwggcwr5419h8s', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898360292, 1795898360326, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4gqpbcvrhepxp66xd4vx', 'alice', 'conv_01m8hy4gpg3xe1s7qcpefctrty', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898360566, 1795898360566, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4gqpbcvrhepxp66xd4vy', 'alice', 'conv_01m8hy4gpg3xe1s7qcpefctrty', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8hy4gqpbcvrhepxp66xd4vx', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898360566, 1795898360603, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4gvk4gb01ayv0y57c7s5', 'alice', 'conv_01m8hy4gpg3xe1s7qcpefctrty', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8hy4gqpbcvrhepxp66xd4vy', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898360691, 1795898360691, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4gvk4gb01ayv0y57c7s6', 'alice', 'conv_01m8hy4gpg3xe1s7qcpefctrty', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8hy4gvk4gb01ayv0y57c7s5', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898360691, 1795898360706, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4gz5ecytnvf1rhvh6dmf', 'alice', 'conv_01m8hy4gpg3xe1s7qcpefctrty', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8hy4gqpbcvrhepxp66xd4vy', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898360829, 1795898360829, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4gz5ecytnvf1rhvh6dmg', 'alice', 'conv_01m8hy4gpg3xe1s7qcpefctrty', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8hy4gz5ecytnvf1rhvh6dmf', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898360829, 1795898360852, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4h332ff10dexcm0syeba', 'alice', 'conv_01m8hy4h2y1kr186sw4dhzy1zt', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898360931, 1795898360931, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4h332ff10dexcm0syebb', 'alice', 'conv_01m8hy4h2y1kr186sw4dhzy1zt', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8hy4h332ff10dexcm0syeba', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898360931, 1795898360948, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4h6qetqymdmdjpe6mymj', 'alice', 'conv_01m8hy4h5n5bqmf13qe7qy617p', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898361047, 1795898361047, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4h6qetqymdmdjpe6mymk', 'alice', 'conv_01m8hy4h5n5bqmf13qe7qy617p', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8hy4h6qetqymdmdjpe6mymj', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.49}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795898361047, 1795898361186, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795898361264, NULL, 'guide', 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4hfd03xg6amq343nj86v', 'alice', 'conv_01m8hy4h5n5bqmf13qe7qy617p', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8hy4h6qetqymdmdjpe6mymk', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898361325, 1795898361325, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4hfd03xg6amq343nj86w', 'alice', 'conv_01m8hy4h5n5bqmf13qe7qy617p', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8hy4hfd03xg6amq343nj86v', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795898361325, 1795898361424, NULL, NULL, 0, 'down', NULL, 1795898361475, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4hqr51r7n26sm2t06z1j', 'alice', 'conv_01m8hy4hqkbj876brajxw2rh26', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898361592, 1795898361592, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4hqr51r7n26sm2t06z1k', 'alice', 'conv_01m8hy4hqkbj876brajxw2rh26', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8hy4hqr51r7n26sm2t06z1j', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898361592, 1795898361596, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4hs4f3wfw14ychpq71en', 'alice', 'conv_01m8hy4hqkbj876brajxw2rh26', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8hy4hqr51r7n26sm2t06z1k', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898361636, 1795898361636, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva');
INSERT INTO public.messages VALUES ('msg_01m8hy4ht93tnn8e9416byn5ad', 'alice', 'conv_01m8hy4hqkbj876brajxw2rh26', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8hy4hs4f3wfw14ychpq71en', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898361673, 1795898361673, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4hxg5bzrwaf3kfhw15mm', 'alice', 'conv_01m8hy4hqkbj876brajxw2rh26', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8hy4ht93tnn8e9416byn5ad', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898361776, 1795898361776, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4j2m1694k8c85ym04v4j', 'alice', 'conv_01m8hy4gc20rqqajeaxhd6prqg', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8hy4gf4dqcwggcwr5419h8t', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898361940, 1795898361940, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hy4j2m1694k8c85ym04v4k', 'alice', 'conv_01m8hy4gc20rqqajeaxhd6prqg', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8hy4j2m1694k8c85ym04v4j', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898361940, 1795898361958, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 719296133, 1795898360106604, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8hy4fm703zfqz1dnfjn3m4y/user 1', 142916999, 1795898362093668, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hy4fm703zfqz1dnfjn3m4y', 414492677, 1795898363290056, 500);
INSERT INTO public.schema_version VALUES (105, 104);
INSERT INTO public.totals VALUES ('alice', 'keys', 5);
INSERT INTO public.totals VALUES ('alice', 'conversations/guide', 1);
INSERT INTO public.totals VALUES ('alice', 'conversations', 7);
INSERT INTO public.totals VALUES ('alice', 'conversations/echo', 6);
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
ALTER TABLE ONLY public.conversation_pairs
    ADD CONSTRAINT conversation_pairs_pair_owner_conversation_id_fkey FOREIGN KEY (pair_owner, conversation_id) REFERENCES public.conversations(owner, id) ON DELETE CASCADE;
