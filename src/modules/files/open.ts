/** Opens files: the sweep at the start, the rest with the first call or the first use by another module. */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import type { FileContents } from "./contents/contents.ts";
import type { FileHandlers } from "./handlers.ts";
import type { Lent } from "./lent.ts";
import { FILE_ROUTES } from "./routes.ts";
import type { FilesSettings } from "./settings.ts";
import { sweep } from "./sweep.ts";

export function openFiles(kernel: Kernel, settings: FilesSettings): OpenModule {
	let contents: Promise<FileContents> | undefined;
	let handlers: Promise<FileHandlers> | undefined;
	let lent: Promise<Lent> | undefined;
	const opened = (): Promise<FileContents> => (contents ??= openContents(kernel));

	async function made(): Promise<FileHandlers> {
		const [{ fileHandlers }, { createFiles }] = await Promise.all([import("./handlers.ts"), import("./files.ts")]);
		const own = await opened();
		const files = createFiles({ kernel, contents: own, settings });
		return fileHandlers({ files, contents: own, calendar: kernel.calendar });
	}

	const lend = (): Promise<Lent> =>
		(lent ??= Promise.all([import("./lent.ts"), opened()]).then(([{ lentFiles }, contents]) =>
			lentFiles({ kernel, contents }),
		));

	const late = FILE_ROUTES.map(({ name }) => {
		const handle = async (call: never): Promise<unknown> =>
			await ((await (handlers ??= made()))[name] as (call: never) => unknown)(call);
		return [name, handle] as const;
	});
	return {
		handlers: Object.fromEntries(late),
		hooks: {
			files: {
				find: async (...q) => await (await lend()).find(...q),
				open: async (...q) => await (await lend()).open(...q),
				write: async (...q) => await (await lend()).write(...q),
				remove: async (...q) => await (await lend()).remove(...q),
				memory: async () => await (await lend()).memory(),
				bounds: settings,
			},
		},
		services: [sweep(kernel, opened)],
		families: async () => (await import("./families.ts")).fileFamilies(kernel),
	};
}

/** The store has either a folder or rows for them. */
async function openContents({ store, clock, now }: Kernel): Promise<FileContents> {
	const { pieces, filesFolder, files } = store;
	if (pieces) return (await import("./contents/rows.ts")).rowContents(pieces, now);
	return (await import("./contents/folder.ts")).folderContents(filesFolder!, files, clock);
}
