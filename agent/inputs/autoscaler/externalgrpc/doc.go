// Package externalgrpc is the wire of cluster-autoscaler's cloud provider
// "externalgrpc": the service that it calls, generated from externalgrpc.proto.
package externalgrpc

//go:generate go install google.golang.org/protobuf/cmd/protoc-gen-go
//go:generate go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.1
//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative,require_unimplemented_servers=true externalgrpc.proto
