// Prints admissions and preemptions as Tidegate publishes them, from the first that EVENTS holds.
//
//	go run . nats://127.0.0.1:4222
//
// A message is a CloudEvent in binary mode. Nats-Msg-Id is <ledger id>/<seq>: seq has no gaps, so that
// a hole between two messages of an unfiltered subscription is one, and the ledger has what is missing.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// decision holds the fields that the events below have in common.
type decision struct {
	Workload     string `json:"workload"`
	ClusterQueue string `json:"cluster_queue"`
	By           string `json:"by"`
}

func main() {
	url := nats.DefaultURL
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, url); err != nil {
		log.Fatal(err)
	}
}

// follow prints events until the context ends. An ordered consumer leaves nothing on the server and
// begins again by itself after a lost connection.
func follow(ctx context.Context, url string) error {
	connection, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	consumer, err := stream.OrderedConsumer(ctx, "tidegate_local_events", jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{
			"tidegate.local.event.WorkloadAdmitted.>",
			"tidegate.local.event.WorkloadPreempted.>",
		},
	})
	if err != nil {
		return err
	}
	consuming, err := consumer.Consume(show)
	if err != nil {
		return err
	}
	defer consuming.Stop()
	<-ctx.Done()
	return nil
}

func show(message jetstream.Msg) {
	var told decision
	if err := json.Unmarshal(message.Data(), &told); err != nil {
		log.Printf("%s: %v", message.Subject(), err)
		return
	}
	header := message.Headers()
	line := fmt.Sprintf("%s %s %s %s in %s", header.Get("ce-time"), header.Get("Nats-Msg-Id"),
		header.Get("ce-type"), told.Workload, told.ClusterQueue)
	if told.By != "" {
		line += " by " + told.By
	}
	fmt.Println(line)
}
