/**
 * Prints the packages of the service as CycloneDX. `npm sbom --omit dev` leaves out packages that a
 * development package uses too, so all are asked for and those of the service kept.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { lockedPackages, nameOf, ofService } from "./locked-packages.ts";

interface Bom {
	components: { name: string; version: string; "bom-ref": string }[];
	dependencies: { ref: string; dependsOn: string[] }[];
}

const root = fileURLToPath(new URL("..", import.meta.url));
const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"];
const bom = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 2 ** 20 })) as Bom;
const all = lockedPackages();
const wanted = new Set([...ofService(all)].map((path) => `${nameOf(path)}@${all.get(path)!.version}`));
const components = bom.components.filter(({ name, version }) => wanted.has(`${name}@${version}`));
if (components.length !== wanted.size)
	throw new Error(`npm names ${components.length} of the ${wanted.size} packages of the service.`);
const refs = new Set(components.map((component) => component["bom-ref"]));
const dependencies = bom.dependencies.flatMap(({ ref, dependsOn }, index) =>
	index === 0 || refs.has(ref) ? [{ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }] : [],
);
process.stdout.write(`${JSON.stringify({ ...bom, components, dependencies }, null, 2)}\n`);
