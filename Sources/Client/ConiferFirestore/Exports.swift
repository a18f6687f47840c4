// What apps see of what all clients share, such as receipts' ids, tokens and callback queues.
@_exported public import ConiferEngine
