package arrows

import (
	"go/ast"
	"slices"
	"testing"
)

// mayWrite are the functions that write files, and what. Secrets are written by the secret
// store, encrypted, and where people ask for them.
func mayWrite() map[string]string {
	return map[string]string{
		"agent/ownership/adopt.put":                        "manifests, into a clone",
		"agent/ownership/adopt.setPaused":                  "the same",
		"agent/wiring.OpenSecrets":                         "opens the secret store, which is encrypted",
		"agent/console/cli.Write":                          "the kubeconfig of a home, where a person asked for it",
		"agent/console/cli.keepPlan":                       "a plan, where a person asked for it",
		"agent/console/cli.mergeKubeconfig":                "a kubeconfig, where a person asked for it",
		"agent/console/cli.writeNew":                       "manifests, where a person asked for them",
		"agent/console/cli.prepare":                        "the log of bootstrap and pivot",
		"agent/console/cli.objectsAt":                      "makes the folder of sources/git.Share",
		"agent/console/cli.pin":                            "fleet.yaml, into a clone",
		"agent/console/contexts.Write":                     "the contexts of a person, which name no secret",
		"agent/wiring/demo.Run":                            "the folder of a demonstration",
		"agent/wiring/demo.add":                            "manifests, into a clone",
		"agent/wiring/demo.keep":                           "the kubeconfig of a simulated cluster, where a person asked for it",
		"agent/wiring/demo.replace":                        "manifests, into a clone",
		"agent/wiring/demo.run":                            "the log of a demonstration",
		"agent/secrets.Place":                              "the name of the secret store",
		"agent/secrets.createIdentity":                     "what the secret store is encrypted for, as it is made",
		"agent/secrets.lock":                               "the lock of the secret store",
		"agent/secrets.write":                              "the secret store, encrypted",
		"agent/secrets/escrow.write":                       "the escrow, encrypted",
		"providers/infrastructure/hosts/remote.knownHosts": "public keys, which a library reads from files alone",
		"sources/dir.Branch":                               "names what writes the status branch of a folder",
		"sources/dir.Followed":                             "whether an agent follows a folder, by a lock",
		"sources/dir.append":                               "the status branch of a folder",
		"sources/dir.commit":                               "the same",
		"sources/dir.follow":                               "the same",
		"sources/dir.lock":                                 "its lock",
		"sources/dir.make":                                 "its .gitignore",
		"sources/git.Share":                                "a repository without objects of its own",
		"sources/files.Create":                             "what its callers write",
		"sources/git/gitserver.StartSSH":                   "what a server of tests knows",
		"sources/git/gitserver.spool":                      "what is pushed to the repository of a demonstration",
		"sources/git.knownHosts":                           "public keys, which a library reads from files alone",
	}
}

// TestSecretsAreInNoFile: no function of the program writes files, except for those in
// mayWrite.
func TestSecretsAreInNoFile(t *testing.T) {
	only(t, mayWrite(), func(_ string, fn *ast.FuncDecl) bool { return writesFiles(fn) },
		"writes a file: what is secret goes to the secret store alone; where this is not, say so in mayWrite",
		"of mayWrite writes no file")
}

// writesFiles reports whether fn calls something that makes or writes a file.
func writesFiles(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		e, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch e.Sel.Name {
		case "CreateTemp", "MkdirTemp", "WriteFile", "OpenFile":
			found = true
		default:
			x, ok := e.X.(*ast.Ident)
			found = found || ok && slices.Contains([]string{"os.Create", "flock.New", "files.Replace", "files.ReplaceFile", "files.Stage", "files.Create"}, x.Name+"."+e.Sel.Name)
		}
		return !found
	})
	return found
}
