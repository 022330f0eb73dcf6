import manifest from "../package.json" with { type: "json" };

/** `sluice/<version>`, the `runpod_version` in pings and error records. */
export const kitVersion: string = `sluice/${manifest.version}`;
