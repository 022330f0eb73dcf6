/** The pictures of the fake ComfyUI: what was uploaded, and what its nodes have saved. */

export interface Place {
	filename: string;
	subfolder: string;
	/** "input", "output" or "temp". */
	type: string;
}

export interface ComfyFiles {
	get(place: Place): Buffer | undefined;
	/** Saves a picture under the next number of its name, as the nodes do, and resolves with its place. */
	save(picture: Buffer, prefix: string, type: "output" | "temp"): Place;
	/** Stores the picture of a form. A name that is taken gets a number, unless the form has `overwrite`. */
	upload(body: Buffer, contentType: string): Promise<{ name: string; subfolder: string; type: string }>;
}

export function comfyFiles(): ComfyFiles {
	const files = new Map<string, Buffer>();
	const keyOf = ({ type, subfolder, filename }: Place): string => JSON.stringify([type, subfolder, filename]);
	const get = (place: Place): Buffer | undefined => files.get(keyOf(place));
	return {
		get,
		save(picture, prefix, type) {
			const slash = prefix.lastIndexOf("/");
			const subfolder = prefix.slice(0, Math.max(slash, 0));
			for (let n = 1; ; n++) {
				const filename = `${prefix.slice(slash + 1)}_${String(n).padStart(5, "0")}_.png`;
				const place = { filename, subfolder, type };
				if (files.has(keyOf(place))) continue;
				files.set(keyOf(place), picture);
				return place;
			}
		},
		async upload(body, contentType) {
			const form = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
			const image = form.get("image") as File;
			const text = (name: string): string => (form.get(name) as string | null) ?? "";
			const picture = Buffer.from(await image.arrayBuffer());
			const place = { filename: image.name, subfolder: text("subfolder"), type: text("type") || "input" };
			if (text("overwrite") !== "true" && text("overwrite") !== "1") {
				const dot = image.name.lastIndexOf(".");
				for (let n = 1, found = get(place); found && !found.equals(picture); n++, found = get(place))
					place.filename = `${image.name.slice(0, dot)} (${n})${image.name.slice(dot)}`;
			}
			files.set(keyOf(place), picture);
			return { name: place.filename, subfolder: place.subfolder, type: place.type };
		},
	};
}

/** The place that parameters of `/view` name. */
export function placeOf(query: URLSearchParams): Place {
	return {
		filename: query.get("filename") ?? "",
		subfolder: query.get("subfolder") ?? "",
		type: query.get("type") ?? "output",
	};
}
