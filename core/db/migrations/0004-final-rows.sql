-- Oldest release: 0.2.0
-- A revocation is final and an expiry only becomes earlier, whoever writes it. A change that no command recorded is
-- recorded here. Plans and ledger entries never change.
create function guard_api_key() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  if new.expires_at > old.expires_at or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  then
    raise exception 'the revocation of a key is final, and its expiry only becomes earlier'
      using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_api_key before update on api_keys for each row execute function guard_api_key();

-- At the end of the transaction. Its own entries are the last of the trail, because the trail is locked by then.
create function record_key_change() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  if not exists (
    select from (select subject, detail, xmin as by from audit order by seq desc limit 10) as last
    where last.by = pg_current_xact_id()::xid
      and (last.subject = 'key:' || new.id or last.detail -> 'replaces' ->> 'id' = new.id::text))
  then
    insert into audit (actor, action, subject, detail) values (session_user, 'key.change', 'key:' || new.id,
      jsonb_build_object('revoked_at', new.revoked_at, 'expires_at', new.expires_at));
  end if;
  return null;
end $$;
create constraint trigger record_key_change after update on api_keys deferrable initially deferred for each row
  when (new.revoked_at is distinct from old.revoked_at or new.expires_at is distinct from old.expires_at)
  execute function record_key_change();

create function keep_row() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  raise exception 'a row of % is never changed or removed', tg_table_name using errcode = 'check_violation';
end $$;
create trigger keep_plan before update or delete or truncate on plans for each statement execute function keep_row();
create trigger keep_ledger before update or delete or truncate on ledger for each statement execute function keep_row();
