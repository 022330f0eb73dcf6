/**
 * Two kinds of time that the type checker keeps apart. A plain number fits both, and arithmetic
 * drops the mark: only arguments and fields are protected.
 */

/** Ms since the epoch by the job clock: the same on all servers that share a store. */
export type EpochMs = number & { readonly __clock?: "job clock" };

/** Ms by this machine's clock: for waits and durations on this server only. */
export type LocalMs = number & { readonly __clock?: "machine clock" };
