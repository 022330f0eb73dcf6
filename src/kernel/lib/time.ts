/** Three kinds of time that the type checker keeps apart in arguments and fields. A plain number fits all. */

/**
 * Ms by the job clock, the same on all servers that share a store. Near the time of day, without its steps and without
 * times in which the service did not run (D16).
 */
export type EpochMs = number & { readonly __clock?: "job clock" };

/** Ms by this machine's clock: for waits and durations on this server only. */
export type LocalMs = number & { readonly __clock?: "machine clock" };

/** Ms since the epoch by the time of day, as people and other programs see it. */
export type WallMs = number & { readonly __clock?: "time of day" };
