/** Webhook deliveries as rows, their bodies apart (D21). */
import type { DeliveryState, DeliveryTry, NewDelivery } from "../../core/delivery.ts";
import type { JsonText } from "../../core/json-text.ts";
import type { DeliveryRow } from "../store.ts";
import type { Database, Value } from "./database.ts";
import type { Large } from "./large.ts";

/** A delivery and the number of its row. */
export interface NumberedDelivery extends DeliveryRow {
  number: number;
}

/** The columns of a {@link NumberedDelivery}, as {@link deliveryFrom} takes them. */
export const DELIVERY_COLUMNS = "number, id, endpoint, job, url, state, tries, used, created_at, due_at";

export type Deliveries = ReturnType<typeof openDeliveries>;

/** Deliveries of `db`; `large` is told of bodies that are bytes. */
export function openDeliveries({ db, large }: { db: Database; large: Large }) {
  const insert = db.prepare("INSERT INTO deliveries (id, endpoint, job, url, state, created_at, due_at) VALUES (?, ?, ?, ?, 'pending', ?, ?) RETURNING number");
  const insertBody = db.prepare("INSERT INTO delivery_bodies (number, body) VALUES (?, ?)");
  const selectBody = db.prepare("SELECT body FROM delivery_bodies WHERE number = ?");
  const select = db.prepare(`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ?`);
  const update = db.prepare("UPDATE deliveries SET state = ?, tries = ?, used = ?, due_at = ? WHERE number = ?");
  const remove = db.prepare("DELETE FROM deliveries WHERE number = ?");
  const removeBody = db.prepare("DELETE FROM delivery_bodies WHERE number = ?");

  return {
    /** Adds one that is due at once. */
    add({ id, endpoint, job, url, body, createdAt }: NewDelivery): void {
      const number = Number(insert.get(id, endpoint, job, url, createdAt, createdAt)?.[0]);
      if (body instanceof Uint8Array) large.written(body);
      insertBody.run(number, body);
    },

    find(id: string): NumberedDelivery | undefined {
      const found = select.get(id);
      return found && deliveryFrom(found);
    },

    body(number: number): JsonText {
      const body = selectBody.get(number)?.[0] as JsonText;
      if (body instanceof Uint8Array) large.read(body);
      return body;
    },

    /** Writes what of a delivery changes. */
    update({ number, state, tries, used, dueAt }: NumberedDelivery): void {
      update.run(state, JSON.stringify(tries), used, dueAt ?? null, number);
    },

    remove(number: number): void {
      removeBody.run(number);
      remove.run(number);
    },
  };
}

/** A delivery from the values of {@link DELIVERY_COLUMNS}. */
export function deliveryFrom(values: Value[]): NumberedDelivery {
  const [number, id, endpoint, job, url, state, tries, used, createdAt, dueAt] = values as [number, string, string, string, string, DeliveryState, string, number, number, number | null];
  return { number, id, endpoint, job, url, state, tries: JSON.parse(tries) as DeliveryTry[], used, createdAt, dueAt: dueAt ?? undefined };
}
