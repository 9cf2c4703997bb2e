// Answers of Linea's compressor and of gnark-crypto's hashes: a formula and its argument on each line of standard
// input, the value on each line of standard output; bytes are hexadecimal.
//
//	consensys DICTIONARY
//
//	lzss PAYLOAD            compressed size, with the dictionary of that file
//	poseidon2 MESSAGE       hash of KoalaBear elements, four bytes each, of which every 32 bytes are absorbed together
//	mimc MESSAGE            hash of BLS12-377 elements, 32 bytes each
//	proof HASH INDEX NODE...   root to which the nodes of a proof lead, see `proof`
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"strconv"

	"feemodel/nodes/lines"
	"github.com/consensys/compress/lzss"
	"github.com/consensys/gnark-crypto/ecc/bls12-377/fr/mimc"
	"github.com/consensys/gnark-crypto/field/koalabear"
	"github.com/consensys/gnark-crypto/field/koalabear/poseidon2"
)

const (
	digestElements = 8
	elementBytes   = 4
	blockBytes     = digestElements * elementBytes
)

var permutation = poseidon2.NewDefaultPermutation()

// hashed is the Merkle-Damgård construction over the permutation's compression: the second half of the input is kept
// and added to the second half of the output.
func hashed(message []byte) []byte {
	var state, kept [2 * digestElements]koalabear.Element
	for start := 0; start < len(message); start += blockBytes {
		for i := range digestElements {
			at := start + elementBytes*i
			state[digestElements+i].SetUint64(uint64(binary.BigEndian.Uint32(message[at : at+elementBytes])))
			kept[digestElements+i] = state[digestElements+i]
		}
		if err := permutation.Permutation(state[:]); err != nil {
			log.Fatal(err)
		}
		for i := range digestElements {
			state[i].Add(&state[digestElements+i], &kept[digestElements+i])
		}
	}
	out := make([]byte, 0, blockBytes)
	for _, element := range state[:digestElements] {
		out = binary.BigEndian.AppendUint32(out, uint32(element.Uint64()))
	}
	return out
}

func mimcHashed(message []byte) []byte {
	hasher := mimc.NewMiMC()
	if _, err := hasher.Write(message); err != nil {
		log.Fatal(err)
	}
	return hasher.Sum(nil)
}

var hashes = map[string]func([]byte) []byte{"poseidon2": hashed, "mimc": mimcHashed}

// proof is the root to which the nodes of a proof lead: the top node; the two hashes below each sibling, from height 39
// down; the sibling leaf, 32 zero bytes where it is empty; the leaf.
func proof(words []string) string {
	hash := hashes[words[0]]
	index, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	top, leaf, between := lines.Bytes(words[2]), lines.Bytes(words[len(words)-1]), words[3:len(words)-1]
	node := hash(leaf)
	for height := range between {
		sibling := lines.Bytes(between[len(between)-1-height])
		if height > 0 || len(sibling) > blockBytes {
			sibling = hash(sibling)
		}
		if index>>height&1 == 1 {
			node = hash(append(sibling, node...))
		} else {
			node = hash(append(node, sibling...))
		}
	}
	if claimed := top[len(top)-blockBytes:]; !bytes.Equal(node, claimed) {
		return fmt.Sprintf("sub root %x, not %x", node, claimed)
	}
	return hex.EncodeToString(hash(top))
}

func main() {
	dictionary, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	compressor, err := lzss.NewCompressor(dictionary)
	if err != nil {
		log.Fatal(err)
	}
	lines.Answer(map[string]func([]string) string{
		"lzss": func(words []string) string {
			size, err := compressor.CompressedSize256k(lines.Bytes(words[0]))
			if err != nil {
				return err.Error()
			}
			return strconv.Itoa(size)
		},
		"poseidon2": func(words []string) string { return hex.EncodeToString(hashed(lines.Bytes(words[0]))) },
		"mimc":      func(words []string) string { return hex.EncodeToString(mimcHashed(lines.Bytes(words[0]))) },
		"proof":     proof,
	})
}
