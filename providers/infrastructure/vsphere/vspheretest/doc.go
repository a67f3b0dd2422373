// Package vspheretest is a vCenter for tests: govmomi's simulator vcsim behind TLS on the
// loopback, with what it does otherwise than a vCenter put right where a provider of
// machines meets it, and with faults as rules.
//
//	v := vspheretest.New(t, vspheretest.Options{})
//	client, err := v.Client(ctx)              // or v.Server(), v.Thumbprint(), Administrator, Password
//	fault := v.FailCalls(vspheretest.CallFault{Method: "CloneVM_Task", Times: 1, Lose: true})
//	held := v.FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Hold: true})
//
// What is put right, each with a test:
//
//   - A clone inherits ExtraConfig, annotation, flags and firmware of its source; takes
//     cores, annotation, flags and all else of its specification; is of the snapshot that
//     was named, and linked where that was asked; is on a host of the pool's cluster that is
//     connected, in no maintenance and has the datastore, whichever has the fewest machines;
//     several clones of one template run at once. While it is held it is listed without
//     configuration.
//   - UUIDs are random where none is given; an instance UUID that another VM has is changed,
//     as VirtualMachineConfigSpec.instanceUuid of the API reference says.
//   - Names of more than 80 characters, linked clones without a snapshot, disks that shrink
//     and devices that are not there are refused; a full datastore takes nothing.
//   - Faults of tasks and calls have vCenter's words, tasks its ids of descriptions.
//   - Passwords are checked; users have privileges on objects and what is below, which calls
//     of the SDK, storage policies and tags need; what they may not see is left out of answers
//     without a word, as vCenter does.
//   - Machines that are disconnected, inaccessible or orphaned take no tasks; a machine whose
//     host cannot run it is switched on on another. A host can lose its power with what is on
//
// it, and HA restarts that elsewhere, or it stays off.
//   - The guest tells nothing before it runs, and its addresses are gone when it is off.
//     ShutdownGuest needs tools.
//   - Addresses of cards are of vCenter's range 00:50:56:80–bf, each one's own: vcsim makes
//     them of three characters of the UUID.
//
// What is otherwise than in a vCenter (vcsim's source: github.com/vmware/govmomi, folder
// simulator, v0.56.0):
//
//   - DRS rules that keep VMs apart hold when a VM is switched on or moved, where they can, and
//     move nothing that runs; VM and host groups and cluster modules are stored and not enforced;
//     modules keep members that are gone (cluster_compute_resource.go; vapi/cluster/simulator).
//   - Storage policies are all compatible with all datastores, and which one a VM has is not
//     recorded (pbm/simulator).
//   - Memory, CPUs and hardware versions have no limits, values of ExtraConfig neither
//     (virtual_machine.go, apply).
//   - A clone has a task of its folder beside its own (Folder.createVm): vcsim makes it so.
//   - A task that is neither held nor made to fail is done before a listing can tell.
//   - All that the configuration of a clone takes as a change of a VM is asked of its folder,
//     privileges of tags and storage policies of the root folder; a vCenter may ask less.
//   - Events are vcsim's, and no event says that an instance UUID was changed.
//   - An object that a user may not see is left out too where it is asked for alone, where
//     vCenter answers NoPermission. WaitForUpdates hides nothing.
//   - With the race detector: the list of storage policies is one for all vCenters of a
//     process, and written when one starts (pbm/simulator, init); fault rules of vcsim race,
//     and are not used here; what reads a VM while it is destroyed races rarely.
package vspheretest
