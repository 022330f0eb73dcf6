/** `?wait=`: how long a call may be held (D7, D8). */
import { badQuery } from "../core/errors.ts";
import { query } from "./call.ts";
import type { Call } from "./call.ts";

/** Bounds, ms; numbers outside are brought to the nearest. */
const WAIT_BOUNDS = [1000, 300_000] as const;

/** Default of `/runsync` and `/status-sync`, ms. */
export const SYNC_WAIT_MS = 90_000;

/** Default of `/stream`, ms: the Python SDK gives up after 10 s. */
export const STREAM_WAIT_MS = 5_000;

/** The wait asked for, or the default; anything but a number is 400. */
export function waitMs(call: Call, otherwise: number): number {
  if (call.queryText === "") return otherwise;
  const value = query(call).get("wait");
  if (value === null) return otherwise;
  if (!/^-?\d+(\.\d+)?$/.test(value)) throw badQuery("wait", value, `a number of ms from ${WAIT_BOUNDS[0]} to ${WAIT_BOUNDS[1]}`);
  return Math.min(WAIT_BOUNDS[1], Math.max(WAIT_BOUNDS[0], Math.round(Number(value))));
}
