#!/usr/bin/env node
// Plain JavaScript that any Node can read, so that an old one gets a sentence instead of a syntax
// error.
const NEEDED = 24;
const major = Number(process.versions.node.split(".")[0]);
if (major < NEEDED) {
	// The package `node` of npm is Node.
	const command = ["npx", "-y", `node@${NEEDED}`, ...process.argv.slice(1)].map(shellWord);
	process.stderr.write(
		`sluice needs Node ${NEEDED} or newer; this is Node ${process.versions.node}. Install it, or run: ${command.join(" ")}\n`,
	);
	process.exit(2);
}
import("../dist/main.js").catch((error) => {
	if (error.code === "ERR_MODULE_NOT_FOUND" && String(error.message).includes("dist/main.js")) {
		process.stderr.write("sluice is not built yet: run 'npm run build' first.\n");
		process.exit(2);
	}
	throw error;
});

function shellWord(text) {
	return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.split("'").join("'\\''")}'`;
}
