"""Commands that print reports and statements of a month, and keep the rows behind them."""
