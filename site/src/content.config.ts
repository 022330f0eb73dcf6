import { docsSchema } from "@astrojs/starlight/schema";
import { defineCollection } from "astro:content";
import { repositoryPages } from "./loader.ts";

export const collections = {
	docs: defineCollection({ loader: repositoryPages(), schema: docsSchema() }),
};
