// Command build builds the binaries that tests run, those of them that are not
// built yet, and prints where they lie. Without names it builds all but those
// that want to be asked for.
//
//	go run ./test/lab/kube/binaries/build [NAME...]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"fairlead.dev/test/lab/kube/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	wanted := slices.DeleteFunc(binaries.List(), func(b binaries.Binary) bool { return b.Asked })
	if len(names) > 0 {
		wanted = nil
	}
	for _, name := range names {
		b, err := binaries.Find(name)
		if err != nil {
			return err
		}
		wanted = append(wanted, b)
	}
	for _, b := range wanted {
		path, err := b.Build(ctx, ".", os.Stderr)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, path)
	}
	return nil
}
