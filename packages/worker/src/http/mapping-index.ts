/**
 * What the service and its command line use of the adapter: presets, and the reading of mappings. It imports nothing of
 * Node, and no file that runs a server.
 */
export type { Mapping } from "./mapping/mapping.ts";
export type { MappingFault } from "./mapping/mapping-reader.ts";
export { EXAMPLE_INPUTS } from "./presets/example-inputs.ts";
export { type Preset, PRESETS } from "./presets/index.ts";
export { type ResolvedMapping, resolveMapping } from "./mapping/resolve-mapping.ts";
export { namesIn } from "./mapping/template.ts";
