"""What is generated and checked in: CRDs, policies, AsyncAPI, JSON Schemas, the page of events."""
