import ConiferKeyValue
import ConiferLeafStore

extension UsageRow {
  /// The row in the terms of the contract.
  var usage: StorageUsage {
    var usage = StorageUsage()
    usage.leaves = leaves
    usage.runs.raw = raw.runs
    usage.deltas.raw = raw.deltas
    usage.largeLeaves.raw = raw.largeLeaves
    usage.dictionaryCount = dictionaries
    for (space, count) in bytes {
      switch space {
      case Spaces.runs.id: usage.runs.stored.add(count)
      case Spaces.deltas.id: usage.deltas.stored.add(count)
      case Spaces.chunks.id: usage.largeLeaves.stored.add(count)
      case Spaces.dictionaries.id: usage.dictionaries.add(count)
      case Spaces.queue.id, Spaces.queueParts.id, Spaces.queueIndex.id, Spaces.finished.id,
        Spaces.overlays.id, Spaces.earlierOverlays.id:
        usage.queue.add(count)
      case Spaces.queries.id, Spaces.queryIndex.id, Spaces.queryKeys.id, Spaces.changes.id:
        usage.trackedQueries.add(count)
      case Spaces.pins.id: usage.pins.add(count)
      case Spaces.indexes.id, Spaces.collections.id: usage.indexes.add(count)
      default: usage.other.add(count)
      }
    }
    return usage
  }
}
