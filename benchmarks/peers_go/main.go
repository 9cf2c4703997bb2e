// A child process with programs to compare the package with. It reads its inputs once. For each line of standard input,
// it does one kind of work and prints the processor time [s].
//
//	peers DICTIONARY PAYLOADS BLOB NODES PAIRS
//
// DICTIONARY is the compressor's dictionary. PAYLOADS contains payloads, each after its length (32 bits, little
// endian). BLOB contains the uncompressed data of a blob. NODES contains messages of 16 KoalaBear elements (32 bits,
// little endian, canonical). PAIRS contains pairs of field elements of BLS12-377 (32 bytes each, big endian). The line
// `WORK FILE` also writes the results to a file.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/consensys/compress/lzss"
	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-377/fr/mimc"
	"github.com/consensys/gnark-crypto/field/koalabear"
	"github.com/consensys/gnark-crypto/field/koalabear/poseidon2"
)

const (
	nodeWidth = 16
	digest    = 8
	lanes     = 16
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) []byte {
	data, err := os.ReadFile(path)
	check(err)
	return data
}

func payloads(data []byte) (found [][]byte) {
	for len(data) > 0 {
		size := binary.LittleEndian.Uint32(data)
		found = append(found, data[4:4+size])
		data = data[4+size:]
	}
	return
}

func elements(data []byte) []koalabear.Element {
	found := make([]koalabear.Element, len(data)/4)
	for i := range found {
		found[i].SetUint64(uint64(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return found
}

// sizes encodes integers with 32 bits each, little endian.
func sizes(numbers []int) []byte {
	out := make([]byte, 0, 4*len(numbers))
	for _, number := range numbers {
		out = binary.LittleEndian.AppendUint32(out, uint32(number))
	}
	return out
}

func digests(hashes [][digest]koalabear.Element) []byte {
	out := make([]byte, 0, 4*digest*len(hashes))
	for _, hash := range hashes {
		for _, element := range hash {
			out = binary.LittleEndian.AppendUint32(out, uint32(element.Uint64()))
		}
	}
	return out
}

// processorTime returns the processor time of this process, including the garbage collector [s].
func processorTime() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func main() {
	runtime.GOMAXPROCS(1)
	compressor, err := lzss.NewCompressor(read(os.Args[1]))
	check(err)
	inputs := payloads(read(os.Args[2]))
	blob := read(os.Args[3])
	nodes := elements(read(os.Args[4]))
	count := len(nodes) / nodeWidth
	hashes := make([][digest]koalabear.Element, count)
	pairs := read(os.Args[5])
	permutation := poseidon2.NewDefaultPermutation()

	work := map[string]func() []byte{
		"sizes": func() []byte { // as the sequencer measures a transaction
			found := make([]int, len(inputs))
			for i, payload := range inputs {
				size, err := compressor.CompressedSize256k(payload)
				check(err)
				found[i] = size
			}
			return sizes(found)
		},
		"sizes, buffers kept": func() []byte { // faster, because CompressedSize256k clears 1 MiB in each call
			found := make([]int, len(inputs))
			for i, payload := range inputs {
				compressor.Reset()
				_, err := compressor.Write(payload)
				check(err)
				found[i] = compressor.Len()
			}
			return sizes(found)
		},
		"blob": func() []byte { // compresses the data of a blob in one call
			compressor.Reset()
			_, err := compressor.Write(blob)
			check(err)
			return sizes([]int{compressor.Len()})
		},
		"poseidon2": func() []byte {
			for i := range hashes {
				var state, kept [nodeWidth]koalabear.Element
				for block := 0; block < nodeWidth; block += digest {
					copy(state[digest:], nodes[i*nodeWidth+block:i*nodeWidth+block+digest])
					copy(kept[digest:], state[digest:])
					check(permutation.Permutation(state[:]))
					for j := 0; j < digest; j++ {
						state[j].Add(&state[digest+j], &kept[digest+j])
					}
				}
				copy(hashes[i][:], state[:digest])
			}
			return nil
		},
		"poseidon2 in lanes": func() []byte {
			for i := 0; i+lanes <= count; i += lanes {
				permutation.Compressx16(nodes[i*nodeWidth:(i+lanes)*nodeWidth], nodeWidth, hashes[i:i+lanes])
			}
			return nil
		},
		"mimc": func() []byte {
			out := make([]byte, 0, len(pairs)/2)
			hasher := mimc.NewMiMC()
			for at := 0; at < len(pairs); at += 2 * bls12377.Bytes {
				hasher.Reset()
				_, err := hasher.Write(pairs[at : at+2*bls12377.Bytes])
				check(err)
				out = hasher.Sum(out)
			}
			return out
		},
	}
	fmt.Println(runtime.Version())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		name, file, _ := strings.Cut(lines.Text(), "\t")
		started := processorTime()
		result := work[name]()
		seconds := (processorTime() - started).Seconds()
		if strings.HasPrefix(name, "poseidon2") {
			result = digests(hashes)
		}
		if file != "" {
			check(os.WriteFile(file, result, 0o600))
		}
		fmt.Println(seconds)
	}
	check(lines.Err())
}
