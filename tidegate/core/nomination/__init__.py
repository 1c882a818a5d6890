"""What a cycle could do for each head: flavors, victims, or the reason why it waits."""
