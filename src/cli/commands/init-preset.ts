/** The files of `sluice init http --preset`: an endpoint for a known HTTP server, and a first job. */
import type { NamedPreset } from "./jobs/http-setting.ts";

/** Where a server is whose preset has no port of its own. */
const USUAL_PORT = 8000;

/** Texts by the names of files. The server runs elsewhere, since only the user knows its program or image. */
export function presetFiles(preset: NamedPreset, endpoint: string): Record<string, string> {
	const { name, title, port = USUAL_PORT, input } = preset;
	const own = preset.port === undefined ? `{ preset: ${name}, port: ${port} }` : name;
	return {
		"sluice.yaml": `# ${title}
endpoints:
  ${endpoint}:
    # The server runs already, on any machine that reaches both it and Sluice: connect it with
    #   ${connectLine(preset, endpoint)}
    http: ${name}

    # In place of the line above: Sluice starts its image, which listens on port ${port},
    # http: ${own}
    # launcher: { type: docker, image: "IMAGE:TAG", pullPolicy: missing }
    # gpusPerWorker: 1

    # or a program of this machine, on a free port for each worker.
    # http: { preset: ${name}, port: 0 }
    # launcher: { type: process, command: [PROGRAM, --port, "{port}"] }
`,
		"test_input.json": `${JSON.stringify({ input }, undefined, 2)}\n`,
	};
}

/** The command that makes a server with the usual address a worker. */
export function connectLine({ name, port = USUAL_PORT }: NamedPreset, endpoint: string): string {
	return `sluice connect ${name} http://127.0.0.1:${port} --endpoint ${endpoint}`;
}
