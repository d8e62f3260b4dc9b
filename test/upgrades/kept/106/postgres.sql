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
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hynb5h1hew4545vhtrx6p3', 'ended', 'read_only', 'twin_ZvpXLTx', '05a5a4ba21482e734954b3a9484f0e862ee0ffd1003d691424949ec820e710b5', NULL, 1795898911921, NULL, NULL, 1795898911933, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hynb2w8mvevgsw8g2ef1fv', 'main', 'full_access', 'twin_f6QYIl8', '19ceab98ae58e260fcd5ec5600142f67d5c4d679c8a7f48ce5d4b5817ea193a7', NULL, 1795898911836, NULL, 1795898911968, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hynb521097j81q93gr6e9b', 'frugal', 'full_access', 'twin_VRMr5Vw', '20dc71e0b63c03038668f21b9c439872f0d1951703039ac8398e863e9fe5bee1', NULL, 1795898911906, NULL, 1795898912202, NULL, NULL, NULL, 1000, 1000000000000, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hynb4234xpgwmy4jqqhx7f', 'reader', 'read_only', 'twin_8zxX52i', '18ce248ac4dfb9838a1acb94165d25df16c57d1d931d1c18ce1d2ed96d0cb801', NULL, 1795898911874, 1798490911874, 1795898912551, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hynb4f5e4vaxbdhq3y6bws', 'small', 'full_access', 'twin_Nq6WDDd', 'c9dd454551014236b5cd7f13085c6e84ebf3785121022e900736eb31589736d7', 50, 1795898911887, NULL, 1795898912554, NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO public.api_keys VALUES ('alice', 'key_01m8hynb668jama6rd5346wt6d', 'rotated', 'read_only', 'twin_obsIjhI', '6273caf9cd841370f160e84ea3a5f2fb0747c809329cd903c59c96f1cb246a79', NULL, 1795898911942, NULL, 1795898912568, NULL, 'eac3309cbf5f9eb868eb3d9f701e2b5b1518733fe2d680a1f887e5886dc815b6', 1795985311962, NULL, NULL, 10);
INSERT INTO public.claims VALUES ('alice', '', '/v1/chat/completions#retry', '58e2b9f1cb6347b5ca61e0efd8d7cf239c14c44498228db5270fad017f13ffc7', '', 'msg_01m8hynbe2chr5jsh64g7qhgmt', 1795898972191);
INSERT INTO public.claims VALUES ('alice', '', '/conversations', '1', '3e536ada41fd7358d47fe80873d1c483165aa1c295ac7fc27de71a103ba297e5', 'conv_01m8hynbr145nb26b7hj2mzjww', 1795985312508);
INSERT INTO public.claims VALUES ('alice', '', '/conversations/conv_01m8hynb7j72ngannhd1df77vc/messages', '2', 'afcc4c40fa1f0b0cea634937cb7223599e4216f1a24656728a0209b8dcc6a239', 'msg_01m8hynbrjf3jw7e7t646fcrgg', 1795985312530);
INSERT INTO public.client_tokens VALUES ('1f5ba4964c06fb4eebdc134ac565abc5e7406f3ed8a6e56591433e545ba4cf3c', 'alice', 'key_01m8hynb521097j81q93gr6e9b', '20dc71e0b63c03038668f21b9c439872f0d1951703039ac8398e863e9fe5bee1', 'user 2', NULL, 'full_access', 100, 1795898912206, 1795899512206, 20, 30);
INSERT INTO public.client_tokens VALUES ('4721900e871bbe4b4a1a60b8d3609b765bbb20995a18ff3ddd207dc69d517f1e', 'alice', 'key_01m8hynb2w8mvevgsw8g2ef1fv', '19ceab98ae58e260fcd5ec5600142f67d5c4d679c8a7f48ce5d4b5817ea193a7', 'user 1', '["echo","guide"]', 'full_access', 100, 1795898912253, 1795899512253, NULL, NULL);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8hynbqa7y2gzwbaccc1brz3', 'b448341a706c3ae6766af6b14ef39b6f6d0983db5a45c83e45c921e37c8ff62f', 1795898912489);
INSERT INTO public.conversation_pairs VALUES ('alice', 'conv_01m8hynbqa7y2gzwbaccc1brz3', 'a265c74852c3d6a32865f073fcc6f2c1e1dccdb0062aad5371149a9ffbe57356', 1795898912489);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hynba37ys8f3mra8xcnx27', 'echo', NULL, 'Branches', NULL, NULL, 6, '[[0,4]]', 'msg_01m8hynbcp9yr06q13qxkf0hjd', 1795898912164, 1795898912067, 1795898912183, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hynbe08bacbnecxh4g8psr', 'echo', NULL, NULL, 'chat 1', NULL, 2, NULL, 'msg_01m8hynbe2chr5jsh64g7qhgmt', 1795898912194, 1795898912192, 1795898912198, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hynbev5mw1cg0h58gyvyas', 'model', 'user 2', NULL, NULL, NULL, 2, NULL, 'msg_01m8hynbf36zvtf56vvxxhp5ah', 1795898912227, 1795898912219, 1795898912241, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hynbgh5h3kjf2q516mmgp4', 'guide', 'user 1', NULL, NULL, NULL, 4, NULL, 'msg_01m8hynbje9pbzdncrddwkczab', 1795898912334, 1795898912273, 1795898912356, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hynbmy9w02zg80fe6xrhqg', 'echo', NULL, NULL, NULL, NULL, 5, NULL, 'msg_01m8hynbpn5tjkgkhk9vxa5qcj', 1795898912469, 1795898912414, 1795898912469, 'person', 1795898912469, 3, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hynbqa7y2gzwbaccc1brz3', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795898912489, 1795898912497, 'twin', NULL, 0, '{"ticket":"4711","plan 🦜":""}');
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hynbr145nb26b7hj2mzjww', 'echo', NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1795898912508, 1795898912508, 'twin', NULL, 0, NULL);
INSERT INTO public.conversations VALUES ('alice', 'conv_01m8hynb7j72ngannhd1df77vc', 'echo', NULL, 'Grüße 🦜', NULL, NULL, 4, NULL, 'msg_01m8hynbrjf3jw7e7t646fcrgg', 1795898912530, 1795898911986, 1795898912534, 'twin', NULL, 0, NULL);
INSERT INTO public.erasures VALUES ('7028e265c842c0196ce61ba864447f1819dc2fd7779dc21cf04be0dc8f18a655', 1795898912402);
INSERT INTO public.memories VALUES ('alice', 'user 1', 'echo', 'Ada likes short answers.', 1795898912263);
INSERT INTO public.messages VALUES ('msg_01m8hynb80a5zdhqrh4ctdmrtq', 'alice', 'conv_01m8hynb7j72ngannhd1df77vc', 0, 'user', 'Hello, 世界', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912000, 1795898912000, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynb80a5zdhqrh4ctdmrtr', 'alice', 'conv_01m8hynb7j72ngannhd1df77vc', 1, 'assistant', 'Hello, 世界', 'completed', 'stop', 'msg_01m8hynb80a5zdhqrh4ctdmrtq', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898912000, 1795898912008, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbc0b4mprvpd0rh89ynp', 'alice', 'conv_01m8hynba37ys8f3mra8xcnx27', 0, 'user', 'First?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912128, 1795898912128, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbc0b4mprvpd0rh89ynq', 'alice', 'conv_01m8hynba37ys8f3mra8xcnx27', 1, 'assistant', 'First?', 'completed', 'stop', 'msg_01m8hynbc0b4mprvpd0rh89ynp', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898912128, 1795898912135, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbcp9yr06q13qxkf0hjc', 'alice', 'conv_01m8hynba37ys8f3mra8xcnx27', 2, 'user', 'Second?', 'completed', NULL, 'msg_01m8hynbc0b4mprvpd0rh89ynq', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912150, 1795898912150, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbcp9yr06q13qxkf0hjd', 'alice', 'conv_01m8hynba37ys8f3mra8xcnx27', 3, 'assistant', 'Second?', 'completed', 'stop', 'msg_01m8hynbcp9yr06q13qxkf0hjc', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898912150, 1795898912152, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbd29p16znzz6bgw0ekf', 'alice', 'conv_01m8hynba37ys8f3mra8xcnx27', 4, 'user', 'Another second?', 'completed', NULL, 'msg_01m8hynbc0b4mprvpd0rh89ynq', 1, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912164, 1795898912164, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbd29p16znzz6bgw0ekg', 'alice', 'conv_01m8hynba37ys8f3mra8xcnx27', 5, 'assistant', 'Another second?', 'completed', 'stop', 'msg_01m8hynbd29p16znzz6bgw0ekf', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898912164, 1795898912172, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbe2chr5jsh64g7qhgms', 'alice', 'conv_01m8hynbe08bacbnecxh4g8psr', 0, 'user', 'By name.', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912194, 1795898912194, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbe2chr5jsh64g7qhgmt', 'alice', 'conv_01m8hynbe08bacbnecxh4g8psr', 1, 'assistant', 'By name.', 'completed', 'stop', 'msg_01m8hynbe2chr5jsh64g7qhgms', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898912194, 1795898912198, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbf36zvtf56vvxxhp5ag', 'alice', 'conv_01m8hynbev5mw1cg0h58gyvyas', 0, 'user', 'Hello?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912227, 1795898912227, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbf36zvtf56vvxxhp5ah', 'alice', 'conv_01m8hynbev5mw1cg0h58gyvyas', 1, 'assistant', '', 'failed', 'error', 'msg_01m8hynbf36zvtf56vvxxhp5ag', NULL, NULL, '{"code":"model_error","message":"The twin''s model failed to reply."}', NULL, 'cd59823ce92aaf3c', 0, 1, NULL, 1795898912227, 1795898912241, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbgycq40d5sq692pr2cr', 'alice', 'conv_01m8hynbgh5h3kjf2q516mmgp4', 0, 'user', 'When do you open?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912286, 1795898912286, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbgycq40d5sq692pr2cs', 'alice', 'conv_01m8hynbgh5h3kjf2q516mmgp4', 1, 'assistant', 'We open at nine.', 'completed', 'stop', 'msg_01m8hynbgycq40d5sq692pr2cr', NULL, NULL, NULL, '[{"heading":"Opening hours","document":null,"score":0.49}]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795898912286, 1795898912310, NULL, NULL, 0, 'up', 'Thanks 🙂', 1795898912323, NULL, 'guide', 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbje9pbzdncrddwkczaa', 'alice', 'conv_01m8hynbgh5h3kjf2q516mmgp4', 2, 'user', 'Do you sell zeppelins?', 'completed', NULL, 'msg_01m8hynbgycq40d5sq692pr2cs', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912334, 1795898912334, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbje9pbzdncrddwkczab', 'alice', 'conv_01m8hynbgh5h3kjf2q516mmgp4', 3, 'assistant', 'I don''t know; nothing I have learned covers that. You can ask me about **Opening hours**.', 'completed', 'stop', 'msg_01m8hynbje9pbzdncrddwkczaa', NULL, NULL, NULL, '[]', 'c17fda2fb6b134d6', 0, 1, NULL, 1795898912334, 1795898912356, NULL, NULL, 0, 'down', NULL, 1795898912390, 'e4a6829636976700bc83fe1dbff123ce8c9228521c617d39a20eda7e3d2482ab', 'guide', 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbn8an4032928kfverb8', 'alice', 'conv_01m8hynbmy9w02zg80fe6xrhqg', 0, 'user', 'Is anybody there?', 'completed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912424, 1795898912424, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbn8an4032928kfverb9', 'alice', 'conv_01m8hynbmy9w02zg80fe6xrhqg', 1, 'assistant', 'Is anybody there?', 'completed', 'stop', 'msg_01m8hynbn8an4032928kfverb8', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898912424, 1795898912427, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbnk4tmdc31r0x8b657n', 'alice', 'conv_01m8hynbmy9w02zg80fe6xrhqg', 2, 'assistant', 'I am.', 'completed', 'stop', 'msg_01m8hynbn8an4032928kfverb9', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912435, 1795898912435, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 'Eva');
INSERT INTO public.messages VALUES ('msg_01m8hynbp59n7bmj59hwqrbvp0', 'alice', 'conv_01m8hynbmy9w02zg80fe6xrhqg', 3, 'user', 'Good.', 'completed', NULL, 'msg_01m8hynbnk4tmdc31r0x8b657n', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912453, 1795898912453, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbpn5tjkgkhk9vxa5qcj', 'alice', 'conv_01m8hynbmy9w02zg80fe6xrhqg', 4, 'user', 'When?', 'completed', NULL, 'msg_01m8hynbp59n7bmj59hwqrbvp0', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912469, 1795898912469, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbrjf3jw7e7t646fcrgf', 'alice', 'conv_01m8hynb7j72ngannhd1df77vc', 2, 'user', 'Once.', 'completed', NULL, 'msg_01m8hynb80a5zdhqrh4ctdmrtr', NULL, NULL, NULL, NULL, NULL, 0, 1, NULL, 1795898912530, 1795898912530, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.messages VALUES ('msg_01m8hynbrjf3jw7e7t646fcrgg', 'alice', 'conv_01m8hynb7j72ngannhd1df77vc', 3, 'assistant', 'Once.', 'completed', 'stop', 'msg_01m8hynbrjf3jw7e7t646fcrgf', NULL, NULL, NULL, NULL, 'f8952ccd23cfacbf', 0, 1, NULL, 1795898912530, 1795898912534, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO public.rate_buckets VALUES ('owner:alice', 839872443, 1795898911955612, 30);
INSERT INTO public.rate_buckets VALUES ('key_01m8hynb521097j81q93gr6e9b/user 2', 71993160, 1795898912224430, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hynb521097j81q93gr6e9b', 21579474, 1795898912224430, 500);
INSERT INTO public.rate_buckets VALUES ('key_01m8hynb2w8mvevgsw8g2ef1fv/user 1', 143689165, 1795898912579262, 100);
INSERT INTO public.rate_buckets VALUES ('key_01m8hynb2w8mvevgsw8g2ef1fv', 416771849, 1795898912804014, 500);
INSERT INTO public.schema_version VALUES (106, 106);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8hynb521097j81q93gr6e9b', '2026-11', 1796083200000, 30, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('endUser', 'alice', '074153f35712f6b1357fc80a79454f9ab564609e1a014489ef18ccb0ed517456', 'key_01m8hynb521097j81q93gr6e9b', '2026-11-28', 1795910400000, 20, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8hynb521097j81q93gr6e9b', '2026-11', 1796083200000, 1000000000000, 0, 0, 0);
INSERT INTO public.token_sums VALUES ('key', 'alice', '', 'key_01m8hynb521097j81q93gr6e9b', '2026-11-28', 1795910400000, 1000, 0, 0, 0);
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
