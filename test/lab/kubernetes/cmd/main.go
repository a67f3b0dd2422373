// Command cmd makes the Kubernetes lab and is its operator: `make lab-images`,
// `make lab-up`, `make lab-down` are this.
//
//	lab images [VERSION...]           what machines are made of
//	lab [-name L] up [N [VERSION]]    N machines (5)
//	lab [-name L] down                remove them and their network
//	lab [-name L] list
//	lab [-name L] exec MACHINE COMMAND...
//	lab [-name L] start|kill|wipe MACHINE
//	lab [-name L] run COMMAND...      a command inside the lab's network
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"fairlead.dev/test/lab/kubernetes/images"
	"fairlead.dev/test/lab/kubernetes/lab"
)

func main() {
	lab.Hook()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	name := flag.String("name", "default", "of the lab; several labs know nothing of each other")
	flag.Parse()
	if err := run(ctx, *name, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const usage = "say what to do: images, up, down, list, exec, start, kill, wipe or run; test/lab/kubernetes/cmd/main.go lists their arguments"

func run(ctx context.Context, name string, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	verb, args := args[0], args[1:]
	switch verb {
	case "images":
		return build(ctx, args)
	case "up":
		return up(ctx, name, args)
	case "down":
		return lab.Remove(name)
	case "list":
		return list(name)
	case "run":
		if len(args) == 0 {
			return errors.New("say which command: lab run kubectl get nodes")
		}
		l, err := lab.View(name)
		if err != nil {
			return err
		}
		return l.Exec(args)
	case "exec", "start", "kill", "wipe":
		return machine(ctx, name, verb, args)
	}
	return errors.New(usage)
}

func build(ctx context.Context, versions []string) error {
	if len(versions) == 0 {
		versions = images.Versions()
	}
	set, err := images.Build(ctx, os.Stderr, versions...)
	if err != nil {
		return err
	}
	fmt.Println("machines have Kubernetes", set.Versions)
	return nil
}

func up(ctx context.Context, name string, args []string) error {
	o := lab.Options{Name: name, Machines: 5}
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return fmt.Errorf("%q is not a number of machines", args[0])
		}
		o.Machines = n
	}
	if len(args) > 1 {
		o.Version = args[1]
	}
	l, err := lab.Up(ctx, o)
	if err != nil {
		return err
	}
	if err := l.Release(); err != nil {
		return err
	}
	if err := list(name); err != nil {
		return err
	}
	short, err := lab.Shortage(o.Machines)
	if short != "" {
		fmt.Fprintln(os.Stderr, "note:", short)
	}
	return err
}

func list(name string) error {
	l, err := lab.View(name)
	if err != nil {
		return err
	}
	for _, m := range l.Machines() {
		power := "off"
		if m.On() {
			power = "on"
		}
		fmt.Printf("%s\t%s\t%s\n", m.Name, m.Address, power)
	}
	fmt.Printf("inside the network %s: ssh -i %s root@ADDRESS\n", l.Namespace(), l.Key)
	return nil
}

func machine(ctx context.Context, name, verb string, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say which machine: lab %s m1", verb)
	}
	l, err := lab.View(name)
	if err != nil {
		return err
	}
	m, err := l.Machine(args[0])
	if err != nil {
		return err
	}
	switch verb {
	case "start":
		return m.Start(ctx)
	case "kill":
		return m.Kill()
	case "wipe":
		return m.Wipe()
	}
	if !m.On() {
		return fmt.Errorf("machine %s is off", m.Name)
	}
	c := m.Command(ctx, args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}
