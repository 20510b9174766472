-- Oldest release: 0.2.0
-- The audit trail is a hash chain that nobody alters, and activations form the history that rollbacks walk back.

-- Audit chain ----------------------------------------------------------------------------------------------------
-- `seq` is dense from 1. `hash` covers every other column and the hash of the entry before. `login` is the login role
-- of the session that wrote the entry; entries from before this migration have none.

alter table audit
  add column seq bigint,
  add column login text,
  add column previous_hash bytea check (octet_length(previous_hash) = 32),
  add column hash bytea check (octet_length(hash) = 32);

-- A length before every field keeps two entries with differently divided text apart. Null has the length -1.
create function audit_field(value text) returns bytea language sql immutable
  set search_path = public, pg_temp as $$
  select coalesce(int4send(octet_length(convert_to(value, 'UTF8'))) || convert_to(value, 'UTF8'), int4send(-1))
$$;

-- `core/db/audit-chain.ts` computes the same in Node. Time is in microseconds, detail is the text of its jsonb.
create function audit_hash(entry audit) returns bytea language sql stable set search_path = public, pg_temp as $$
  select sha256(entry.previous_hash || audit_field(entry.id::text) || audit_field(entry.seq::text)
    || audit_field((extract(epoch from entry.at) * 1000000)::bigint::text) || audit_field(entry.login)
    || audit_field(entry.actor) || audit_field(entry.action) || audit_field(entry.subject)
    || audit_field(entry.detail::text))
$$;

-- The end of the chain, and its lock: no role may touch the row, so nobody who cannot append can hold the chain up.
create table audit_head (
  id boolean primary key default true check (id),
  seq bigint not null,
  hash bytea not null check (octet_length(hash) = 32)
);

-- No caller sets place, time, login or hash. The lock is held to the end of the transaction, so an entry is appended
-- last: after every other lock of the transaction. Whoever waits gives up after a bounded time.
create function append_to_audit_chain() returns trigger language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '10s' as $$
declare
  head audit_head;
begin
  select * into strict head from audit_head for no key update;
  new.seq := head.seq + 1;
  new.previous_hash := head.hash;
  new.login := session_user;
  new.at := clock_timestamp();
  new.hash := audit_hash(new);
  update audit_head set seq = new.seq, hash = new.hash;
  return new;
end $$;

do $$ declare
  entry audit;
  last_hash bytea := decode(repeat('00', 32), 'hex');
  last_seq bigint := 0;
begin
  for entry in select a.* from audit a order by a.id loop
    last_seq := last_seq + 1;
    entry.seq := last_seq;
    entry.previous_hash := last_hash;
    last_hash := audit_hash(entry);
    update audit set seq = entry.seq, previous_hash = entry.previous_hash, hash = last_hash where id = entry.id;
  end loop;
  insert into audit_head (seq, hash) values (last_seq, last_hash);
end $$;

alter table audit
  alter column seq set not null,
  alter column previous_hash set not null,
  alter column hash set not null,
  add constraint audit_seq unique (seq);

create trigger append_to_audit_chain before insert on audit
  for each row execute function append_to_audit_chain();

create function keep_audit() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  raise exception 'an entry of the audit trail is never changed or removed' using errcode = 'check_violation';
end $$;
create trigger keep_audit before update or delete or truncate on audit
  for each statement execute function keep_audit();

-- Activation history ---------------------------------------------------------------------------------------------
-- `sequence` orders the activations of a knowledge base as its pointer moved. `returns_to` is the sequence of the
-- activation that a rollback returns to, null where there is none. These links are the way back.

alter table activations
  add column sequence bigint,
  add column returns_to bigint,
  add constraint activations_sequence unique (knowledge_base_id, sequence),
  add constraint activations_way_back foreign key (knowledge_base_id, returns_to)
    references activations (knowledge_base_id, sequence),
  add constraint activations_goes_back check (returns_to < sequence);

-- An activation of a version on the way back shortens the way to that version. Any other version goes on top of it.
create function returns_to_of(base uuid, version uuid) returns bigint language sql stable
  set search_path = public, pg_temp as $$
  with recursive way as (
    (select a.sequence, a.version_id, a.returns_to from activations a
      where a.knowledge_base_id = base and a.sequence is not null order by a.sequence desc limit 1)
    union all
    select a.sequence, a.version_id, a.returns_to from way
      join activations a on a.knowledge_base_id = base and a.sequence = way.returns_to
      where way.version_id <> version
  )
  select case when bool_or(way.version_id = version)
    then min(way.returns_to) filter (where way.version_id = version)
    else max(way.sequence) end
  from way
$$;

-- The audit trail has the true order of earlier activations: its entry was written when the pointer moved.
do $$ declare
  activation record;
begin
  for activation in
    select a.id, a.knowledge_base_id, a.version_id from activations a
    left join audit t on t.action in ('version.activate', 'version.rollback')
      and t.detail ->> 'activation_id' = a.id::text
    where a.state = 'done'
    order by t.seq nulls first, a.finished_at, a.created_at, a.id
  loop
    update activations set
      returns_to = returns_to_of(activation.knowledge_base_id, activation.version_id),
      sequence = coalesce((select max(s.sequence) from activations s
        where s.knowledge_base_id = activation.knowledge_base_id), 0) + 1
    where id = activation.id;
  end loop;
end $$;

-- The lock on the pointer, which the activation has moved, makes the order certain.
create function place_activation() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  if old.state = 'done' then
    if (new.state, new.knowledge_base_id, new.version_id, new.expected_version_id, new.kind, new.sequence,
      new.returns_to) is distinct from (old.state, old.knowledge_base_id, old.version_id, old.expected_version_id,
      old.kind, old.sequence, old.returns_to) then
      raise exception 'an activation that is done stays as it is' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  new.sequence := null;
  new.returns_to := null;
  if new.state = 'done' then
    perform from active_versions a
      where a.knowledge_base_id = new.knowledge_base_id and a.version_id = new.version_id for update;
    if not found then
      raise exception 'an activation is done only when its version is the active one' using errcode = 'check_violation';
    end if;
    new.returns_to := returns_to_of(new.knowledge_base_id, new.version_id);
    new.sequence := coalesce((select max(a.sequence) from activations a
      where a.knowledge_base_id = new.knowledge_base_id), 0) + 1;
  end if;
  return new;
end $$;
create trigger place_activation before update on activations
  for each row execute function place_activation();

-- The time of the move, not of the start of its transaction, which may have waited for search nodes.
alter table active_versions alter column activated_at set default clock_timestamp();

-- Rights ---------------------------------------------------------------------------------------------------------

alter table audit_head owner to evidence_migration;
alter function audit_field(text) owner to evidence_migration;
alter function audit_hash(audit) owner to evidence_migration;
alter function append_to_audit_chain() owner to evidence_migration;
alter function keep_audit() owner to evidence_migration;
alter function returns_to_of(uuid, uuid) owner to evidence_migration;
alter function place_activation() owner to evidence_migration;
revoke execute on function audit_field(text), audit_hash(audit), append_to_audit_chain(), keep_audit(),
  returns_to_of(uuid, uuid), place_activation() from public;
