/**
 * Builds the front end into var/static_build/build: files with hashed names, and a manifest that
 * the template tags `asset` and `island` read. Every folder in islands/ is a separate entry point.
 * `--watch` rebuilds on every change.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import * as esbuild from "esbuild";
import { minify } from "terser";

const source = dirname(fileURLToPath(import.meta.url));
const root = dirname(source);
const output = join(root, "var", "static_build", "build");

// Size limits in KB, measured after brotli compression. Exceeding a limit fails the build. The size
// of a page is the loader plus every file that the page's islands can load, and the search of the
// header.
const FILE_BUDGETS = {
  "main.js": 1.6,
  "search.js": 0.7,
  "site.css": 14,
  "figtree-latin-wght-normal.woff2": 45,
};
// What every page loads before the visitor does anything: the loader with its static imports. A test
// of `apps/pages` checks that no island of the home page loads sooner than it is needed.
const BEFORE_INTERACTION = 2;
const PAGE_BUDGETS = {
  "/": {
    most: 80,
    entries: [
      "main.js",
      "search.js",
      "video.js",
      "testimonials.js",
      "calculator.js",
      "contact.js",
      "free-subject.js",
    ],
  },
  "/precios": {
    most: 90,
    entries: [
      "main.js",
      "search.js",
      "calculator.js",
      "discount-request.js",
      "subject-request.js",
      "free-subject.js",
    ],
  },
  "/servicios": {
    most: 80,
    entries: ["main.js", "search.js", "plan-preview.js", "preview-contact.js", "free-subject.js"],
  },
  "the page of a subject with the payment dialog": {
    most: 105,
    entries: ["main.js", "search.js", "subject.js", "free-subject.js"],
  },
  "/compra with the payment dialog": {
    most: 115,
    entries: ["main.js", "search.js", "catalogue.js", "subject-request.js", "free-subject.js"],
  },
};

const islands = readdirSync(join(source, "islands"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .filter((name) => existsSync(join(source, "islands", name, "index.tsx")));

const entryPoints = [
  { in: join(source, "main.ts"), out: "main" },
  { in: join(source, "styles", "main.css"), out: "site" },
  { in: join(source, "styles", "admin", "main.css"), out: "admin" },
  { in: join(source, "images", "favicon.svg"), out: "favicon" },
  ...readdirSync(join(source, "images"))
    .filter((file) => /\.(png|webp)$/.test(file))
    .map((file) => ({ in: join(source, "images", file), out: file.replace(/\.\w+$/, "") })),
  ...islands.map((name) => ({ in: join(source, "islands", name, "index.tsx"), out: name })),
];

const writeManifest = {
  name: "manifest",
  setup(build) {
    build.onEnd(async ({ metafile, errors }) => {
      if (errors.length > 0) return;
      const outputs = Object.entries(metafile.outputs).map(([path, about]) => ({
        ...about,
        file: relative(output, join(root, path)),
      }));
      removeHelperImport(outputs);
      await minifyScripts(outputs);
      const manifest = {};
      for (const { file, inputs, entryPoint, imports } of outputs) {
        const sources = Object.keys(inputs);
        const isAsset = sources.length === 1 && /\.(svg|png|webp|woff2)$/.test(file);
        if (!entryPoint && !isAsset) continue;
        manifest[file.replace(/-[0-9A-Z]{8}(?=\.\w+$)/, "")] = {
          file: `build/${file}`,
          imports: imports
            .filter(({ kind }) => kind === "import-statement")
            .map(({ path }) => `build/${relative(output, join(root, path))}`),
        };
      }
      // The server may read the manifest at any time. Replace it atomically, and delete the files
      // of the previous build only after that.
      const fresh = join(output, "manifest.json.new");
      writeFileSync(fresh, JSON.stringify(manifest, null, 2));
      renameSync(fresh, join(output, "manifest.json"));
      removeFilesExcept(new Set(["manifest.json", ...outputs.map(({ file }) => file)]));
      report(outputs);
    });
  },
};

/**
 * Remove the import of esbuild's CommonJS helpers from the scripts that use none of them. esbuild
 * adds that import to every script, and a page without React would have to fetch one more file.
 */
function removeHelperImport(outputs) {
  const scripts = outputs.filter(({ file }) => file.endsWith(".js"));
  // The helpers are no module of a package or of ours.
  const helpers = scripts.find(
    ({ inputs, imports }) => Object.keys(inputs).length === 0 && imports.length === 0,
  );
  for (const { file } of scripts) {
    const code = readFileSync(join(output, file), "utf8");
    writeFileSync(join(output, file), code.replace(`import"./${helpers.file}";`, ""));
  }
}

/** Minify once more with Terser: it saves 1.5 KB on every page that loads React. */
async function minifyScripts(outputs) {
  for (const { file } of outputs.filter(({ file }) => file.endsWith(".js"))) {
    const path = join(output, file);
    const { code } = await minify(readFileSync(path, "utf8"), {
      module: true,
      ecma: 2020,
      compress: { passes: 2 },
    });
    writeFileSync(path, code);
  }
}

function removeFilesExcept(files) {
  for (const file of readdirSync(output)) {
    if (!files.has(file)) rmSync(join(output, file), { recursive: true });
  }
}

function report(outputs) {
  const size = (file) => brotliCompressSync(readFileSync(join(output, file))).length;
  const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
  const sizes = new Map(outputs.map(({ file }) => [file, size(file)]));
  for (const [file, bytes] of sizes) console.log(`${kilobytes(bytes).padStart(9)}  ${file}`);

  const find = (name) => outputs.find(({ file }) => file.replace(/-[0-9A-Z]{8}/, "") === name);
  const collect = (file, found, kinds) => {
    if (found.has(file)) return found;
    found.add(file);
    const about = outputs.find((other) => other.file === file);
    for (const { path, external, kind } of about?.imports ?? []) {
      if (!external && kinds.includes(kind))
        collect(relative(output, join(root, path)), found, kinds);
    }
    return found;
  };
  const pageBytes = (entries, kinds = ["import-statement", "dynamic-import"]) => {
    const files = new Set();
    for (const name of entries) {
      const entry = find(name);
      if (entry) collect(entry.file, files, kinds);
    }
    return [...files].reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0);
  };

  const measured = [
    ...Object.entries(FILE_BUDGETS).map(([name, most]) => [
      name,
      sizes.get(find(name)?.file) ?? 0,
      most,
    ]),
    ["before interaction", pageBytes(["main.js"], ["import-statement"]), BEFORE_INTERACTION],
    ...Object.entries(PAGE_BUDGETS).map(([page, { entries, most }]) => [
      page,
      pageBytes(entries),
      most,
    ]),
  ];
  for (const [name, bytes, most] of measured) {
    console.log(`${kilobytes(bytes).padStart(9)}  of ${most} KB  ${name}`);
  }
  const over = measured.filter(([, bytes, most]) => bytes > most * 1024);
  for (const [name, bytes, most] of over) {
    console.error(`${name}: ${kilobytes(bytes)} is over its budget of ${most} KB`);
  }
  if (over.length > 0) process.exitCode = 1;
}

const options = {
  absWorkingDir: root,
  entryPoints,
  outdir: output,
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: ["es2022", "safari16.4"],
  jsx: "automatic",
  define: {
    "process.env.NODE_ENV": '"production"',
    // Drop React's connection to its developer tools from the production build.
    __REACT_DEVTOOLS_GLOBAL_HOOK__: "undefined",
  },
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".woff2": "file", ".svg": "copy", ".png": "copy", ".webp": "copy" },
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  plugins: [writeManifest],
};

mkdirSync(output, { recursive: true });
if (process.argv.includes("--watch")) {
  await (await esbuild.context(options)).watch();
} else {
  await esbuild.build(options);
}
