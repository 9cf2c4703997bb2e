// Package lines answers questions on standard input: a formula and its arguments on each line, separated by spaces; the
// value on each line of standard output. Numbers are decimal, bytes hexadecimal.
package lines

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"log"
	"math/big"
	"os"
	"strconv"
	"strings"
)

const longest = 1 << 26 // bytes of a line

// Answer reads every line and writes the value of its formula.
func Answer(formulas map[string]func([]string) string) {
	out := bufio.NewWriter(os.Stdout)
	asked := bufio.NewScanner(os.Stdin)
	asked.Buffer(nil, longest)
	for asked.Scan() {
		words := strings.Split(asked.Text(), " ")
		formula, known := formulas[words[0]]
		if !known {
			log.Fatalf("no such formula: %s", words[0])
		}
		fmt.Fprintln(out, formula(words[1:]))
	}
	if err := asked.Err(); err != nil {
		log.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

// Whole is a whole number of any size.
func Whole(text string) *big.Int {
	number, fine := new(big.Int).SetString(text, 10)
	if !fine {
		log.Fatalf("not a number: %s", text)
	}
	return number
}

// Small is an unsigned number of 64 bits.
func Small(text string) uint64 {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return number
}

// Bytes is what hexadecimal digits stand for.
func Bytes(text string) []byte {
	found, err := hex.DecodeString(text)
	if err != nil {
		log.Fatal(err)
	}
	return found
}
