// What apps see of what all clients share, such as errors and receipts.
@_exported public import ConiferEngine
