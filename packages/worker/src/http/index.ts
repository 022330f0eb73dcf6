/**
 * `sluice/worker/http`: a worker that sends its jobs as plain HTTP to a server beside it. The program `sluice-http`
 * runs it.
 */
export { type AdapterOptions, processEnvironment, runAdapter } from "./adapter.ts";
export type * from "./mapping/mapping.ts";
export { type MappingFault, type Preset, PRESETS, type ResolvedMapping, resolveMapping } from "./mapping-index.ts";
