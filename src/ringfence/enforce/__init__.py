"""What holds the fence while a program runs: plans (pure), engines, and the launch around them."""
