/** Reports a Node that is too old. Must be imported before undici. */
const NEEDED = 24;
const { node } = process.versions;
if (Number(node.split(".")[0]) < NEEDED) {
	process.stderr.write(
		`sluice/worker needs Node ${NEEDED} or newer; this is Node ${node}. Install it, or start the worker with: ` +
			`npx -y node@${NEEDED} ${process.argv[1] ?? "worker.js"}\n`,
	);
	process.exit(2);
}
