#!/usr/bin/env node
// Plain JavaScript that any Node can read: an old one runs the program with a newer Node.
const NEEDED = 24;
if (Number(process.versions.node.split(".")[0]) < NEEDED)
	void import("./newer-node.js").then(({ runWithNewerNode }) => runWithNewerNode(NEEDED));
else
	import("../dist/worker/sluice-http.js").catch((error) => {
		if (error.code === "ERR_MODULE_NOT_FOUND" && /module '[^']*sluice-http\.js'/.test(error.message)) {
			process.stderr.write("sluice-http is not built yet: run 'npm run build' first.\n");
			process.exit(2);
		}
		throw error;
	});
