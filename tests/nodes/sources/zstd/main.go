// Sizes by libzstd 1.5.7 in DataDog/zstd: `zstd BYTES` on each line of standard input, the length of the frame that
// ZSTD_compress makes with level 3 on each line of standard output.
package main

import (
	"log"
	"strconv"

	"feemodel/nodes/lines"
	"github.com/DataDog/zstd"
)

func main() {
	lines.Answer(map[string]func([]string) string{
		"zstd": func(words []string) string {
			frame, err := zstd.CompressLevel(nil, lines.Bytes(words[0]), 3)
			if err != nil {
				log.Fatal(err)
			}
			return strconv.Itoa(len(frame))
		},
	})
}
