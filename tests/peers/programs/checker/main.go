// Checks that what clients saw is what one register for each key could have shown (linearizability), by porcupine.
//
//	checker FILE
//
// Each line of FILE is one call:
//
//	{"key": "a", "client": 3, "call": 1200, "return": 1900, "op": "write", "from": 7, "to": 9}
//
// Times are nanoseconds of one clock. Versions are numbers that the writers choose, each once; 0: nothing is there. A `read` saw the
// version `to`, a `differs` saw that the version was not `from`. A `write` replaced the version `from` by `to`; with `any` it replaced
// whatever was there. A call whose outcome is not known has no "return", and may have happened at any later time or never.
// The exit status is 1 when some key has no possible order, and 3 when that could not be found out in time.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

type call struct {
	Key    string `json:"key"`
	Client int    `json:"client"`
	Call   int64  `json:"call"`
	Return *int64 `json:"return"`
	Op     string `json:"op"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Any    bool   `json:"any"`
}

// The state of a key is the number of the write that made it; 0 when it is not there.
var model = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		now, c := state.(int64), input.(call)
		switch {
		case c.Op == "read":
			return now == c.To, now
		case c.Op == "differs":
			return now != c.From, now
		case c.Any || now == c.From:
			return true, c.To
		case c.Return == nil:
			return true, now // it did not happen
		default:
			return false, now
		}
	},
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, _ any) string {
		c := input.(call)
		return c.Op + " " + strconv.FormatInt(c.From, 10) + " -> " + strconv.FormatInt(c.To, 10)
	},
}

func read(path string) (map[string][]porcupine.Operation, int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	byKey, count := map[string][]porcupine.Operation{}, 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, 0, err
		}
		end := int64(math.MaxInt64)
		if c.Return != nil {
			end = *c.Return
		}
		byKey[c.Key] = append(byKey[c.Key], porcupine.Operation{ClientId: c.Client, Input: c, Call: c.Call, Return: end})
		count++
	}
	return byKey, count, lines.Err()
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: checker FILE")
	}
	byKey, count, err := read(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	status := 0
	for key, operations := range byKey {
		switch porcupine.CheckOperationsTimeout(model, operations, time.Minute) {
		case porcupine.Illegal:
			fmt.Printf("%s: no order of its %d calls explains what they saw\n", key, len(operations))
			status = 1
		case porcupine.Unknown:
			fmt.Printf("%s: not decided in a minute\n", key)
			if status == 0 {
				status = 3
			}
		}
	}
	fmt.Printf("%d calls on %d keys\n", count, len(byKey))
	os.Exit(status)
}
