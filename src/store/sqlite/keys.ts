/** API keys (D30) and the tokens of workers (D26), by their hashes. */
import type { Parts } from "./parts.ts";
import type { GroupHandlers } from "./operations.ts";

export function openKeys({ db }: Parts): GroupHandlers<"keys"> {
  const any = db.prepare("SELECT 1 FROM keys LIMIT 1");
  const insert = db.prepare("INSERT INTO keys (id, hash, name, scopes, endpoints, created_at) VALUES (?, ?, ?, ?, ?, ?)");
  const select = db.prepare("SELECT id, name, scopes, endpoints, created_at FROM keys WHERE hash = ?");
  return {
    insert({ row, ifNone }) {
      if (ifNone && any.get()) return false;
      insert.run(row.id, row.hash, row.name, JSON.stringify(row.scopes), row.endpoints ? JSON.stringify(row.endpoints) : null, row.createdAt);
      return true;
    },

    find({ hash }) {
      const found = select.get(hash);
      if (!found) return undefined;
      const [id, name, scopes, endpoints, createdAt] = found as [string, string, string, string | null, number];
      return { id, hash, name, scopes: JSON.parse(scopes) as string[], endpoints: endpoints === null ? undefined : (JSON.parse(endpoints) as string[]), createdAt };
    },
  };
}

export function openTokens({ db }: Parts): GroupHandlers<"tokens"> {
  const replace = db.prepare("INSERT OR REPLACE INTO tokens (hash, endpoint, worker, created_at) VALUES (?, ?, ?, ?)");
  const select = db.prepare("SELECT endpoint, worker, created_at FROM tokens WHERE hash = ?");
  const remove = db.prepare("DELETE FROM tokens WHERE worker = ?");
  return {
    put({ hash, endpoint, worker, createdAt }) {
      replace.run(hash, endpoint, worker ?? null, createdAt);
    },

    find({ hash }) {
      const found = select.get(hash);
      if (!found) return undefined;
      const [endpoint, worker, createdAt] = found as [string, string | null, number];
      return { hash, endpoint, worker: worker ?? undefined, createdAt };
    },

    remove({ worker }) {
      remove.run(worker);
    },
  };
}
