// solady's js/solady.js: FastLZ, whose length is the size of OP Stack's fee since Fjord.
import solady from "solady";
import { answer } from "./lines.mjs";

await answer({ fastlz_size: ({ payload }) => String((solady.LibZip.flzCompress(payload).length - 2) / 2) });
