/**
 * Three kinds of time that the type checker keeps apart. A plain number fits all, and arithmetic
 * drops the mark: only arguments and fields are protected.
 */

/**
 * Ms by the job clock: the same on all servers that share a store. Near the time of day, but steps
 * of that and times in which the service did not run are left out (D16).
 */
export type EpochMs = number & { readonly __clock?: "job clock" };

/** Ms by this machine's clock: for waits and durations on this server only. */
export type LocalMs = number & { readonly __clock?: "machine clock" };

/** Ms since the epoch by the time of day, as people and other programs see it. */
export type WallMs = number & { readonly __clock?: "time of day" };
