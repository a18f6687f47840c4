import ConiferKeyValue

/// A repair between two of its commits: a damaged record, and those that were met on the way.
struct RepairRun: Sendable {
  /// What is still to be set aside, the next one last.
  var places: [StoreError.Place]
  var met: Set<StoreError.Place>
  /// How far the last one is.
  var begun: DictionaryDrop?

  init(_ place: StoreError.Place) {
    places = [place]
    met = [place]
  }

  var isDone: Bool { places.isEmpty }
}
