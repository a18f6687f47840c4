internal import ConiferKeyValue

extension StoreMutation {
  static let powerLoss =
    "After power loss or a kill a prefix of the batches is there, with every durable one"
  static let failingDisk = "On a failing disk: "
  private static let programs = "Random programs get the answers of a sorted array"
  private static let order = "The edits of a batch take effect in their order"
  private static let several = "A batch changes several spaces at once"
  private static let clears = "A clear removes exactly its range"
  private static let origins = "Walks begin exactly at or after, or at or before, their origin"
  private static let jumps = "Jumps go ahead, and a jump back goes to the neighbour"
  private static let empty = "The empty key and the empty value are kept"
  private static let sizes = "Values of every size up to 10 MiB come back whole"
  private static let levels = "Every level up to the declared one is accepted, none above"
  private static let frozen = "A view is frozen under later commits"
  private static let threads = "Views are read on any thread while commits go on"
  private static let closed = "Views and calls after close throw closed"
  private static let suspended = "A suspended store refuses until resumed and keeps its data"
  private static let tooLarge =
    "A key above the limit is too large and nothing of its batch is applied"
  private static let owner = "A second opener is told who owns the store, which goes on unharmed"
  private static let reopened = "Reopening keeps every commit"
  private static let dropped =
    "Dropping the store without closing it keeps every .process commit"
  private static let changedValue =
    "A value changed in the files is told or read as it lies there, never as absent or as before"
  private static let changedKey = "A key changed in the files is told by opening, verify or reading"
  private static let failedSync =
    failingDisk + "after a failed sync no commit succeeds until reopening"
  private static let failedIO =
    failingDisk + "whichever operation fails with EIO, nothing acknowledged is lost"

  private static let failedAlone = failingDisk + "the store itself says that the disk failed"
  private static let fullDisk =
    failingDisk
    + "a full disk refuses writes, and reading, draining, evicting and opening go on"

  /// The checks that try what seeds choose.
  static let seeded: Set<String> = [programs, powerLoss]

  /// Every mutation.
  static let every =
    batches + commits + walks + views + lives + openings + damages + crashes + failures

  private static let batches = [
    StoreMutation("A batch's last edit is not done", "batches", .edits(.dropsLastEdit), several),
    StoreMutation(
      "A batch's last put is not done", "batches", .edits(.dropsPut(every: 1)), several),
    StoreMutation(
      "The last put of every 16th batch is not done", "batches", .edits(.dropsPut(every: 16)),
      programs),
    StoreMutation(
      "The last put of every 64th batch is not done", "batches", .edits(.dropsPut(every: 64)),
      programs),
    StoreMutation(
      "A batch's last delete is not done", "batches", .edits(.dropsDelete(every: 1)), empty),
    StoreMutation(
      "The last delete of every 16th batch that has one is not done", "batches",
      .edits(.dropsDelete(every: 16)), programs),
    StoreMutation(
      "A batch's last clear is not done", "batches", .edits(.dropsClear(every: 1)), clears),
    StoreMutation(
      "The last clear of every 16th batch that has one is not done", "batches",
      .edits(.dropsClear(every: 16)), programs),
    StoreMutation(
      "A batch's puts come before its deletes and clears", "batches",
      .edits(.movesPuts(toFront: true)), order),
    StoreMutation(
      "A batch's puts come after its deletes and clears", "batches",
      .edits(.movesPuts(toFront: false)), order),
    StoreMutation(
      "Of two puts of one key in a batch the first one counts", "batches", .edits(.firstPutWins),
      order),
    StoreMutation(
      "A clear leaves the first key of its range", "batches", .edits(.clearMissesFirst), clears),
    StoreMutation(
      "A clear leaves the last key of its range", "batches", .edits(.clearMissesLast), clears),
    StoreMutation(
      "A clear takes the key at its end too", "batches", .edits(.clearTakesEnd), clears),
    StoreMutation(
      "A clear that ends before it begins clears what is between", "batches",
      .edits(.clearsBackwards), clears),
    StoreMutation("The empty key is not kept", "limits", .edits(.losesEmptyKeys), empty),
    StoreMutation("An empty value removes its key", "limits", .edits(.losesEmptyValues), empty),
    StoreMutation("Values end after 4 KiB", "limits", .edits(.cutsValues(at: 4096)), sizes),
    StoreMutation("Values end after 64 KiB", "limits", .edits(.cutsValues(at: 65_536)), sizes),
    StoreMutation("Values end after 8 MiB", "limits", .edits(.cutsValues(at: 8 << 20)), sizes),
    StoreMutation(
      "Keys that differ after 63 bytes are one", "limits", .edits(.cutsKeys(at: 63)),
      "Keys up to the declared limit are kept"),
    StoreMutation(
      "Spaces whose numbers differ by 127 are one", "spaces", .edits(.sharesSpaces), several),
    StoreMutation(
      "A space of another shape is another space", "spaces", .edits(.keepsShapesApart),
      "A space is found by its number, whatever shape is named"),
  ]

  private static let commits = [
    StoreMutation(
      "A view may see what a batch did to its first space, and not yet the rest", "commits",
      .commits(.spaceBySpace), threads),
    StoreMutation(
      "Levels above the strongest one are accepted", "commits", .commits(.takesEveryLevel), levels),
    StoreMutation(
      "The strongest level is refused", "commits", .commits(.refusesStrongest), levels),
    StoreMutation(
      "Every third commit has the number of the one before", "commits", .commits(.repeatsNumbers),
      "Commit numbers increase"),
    StoreMutation(
      "Commit numbers begin anew after it was resumed", "commits", .commits(.beginsNumbersAnew),
      suspended),
    StoreMutation(
      "Of a batch that is refused the edits before the wrong one are done", "limits",
      .failures(.keepsHalfOfTooLarge), tooLarge),
    StoreMutation(
      "Of a batch that is refused the edits before the wrong one come with the next batch",
      "limits",
      .failures(.defersHalfOfTooLarge), tooLarge),
    StoreMutation(
      "A key that is too long is cut", "limits", .failures(.cutsTooLongKeys), tooLarge),
    StoreMutation(
      "The longest key is refused", "limits", .failures(.refusesLongestKey),
      "Keys up to the declared limit are kept"),
  ]

  private static let walks = [
    StoreMutation("A walk passes over its third key", "walks", .views(.skipsKey), origins),
    StoreMutation("A walk visits its third key twice", "walks", .views(.doublesKey), origins),
    StoreMutation(
      "A walk down visits its first two keys in the wrong order", "walks",
      .views(.disordersDescents), origins),
    StoreMutation("A walk begins after its origin", "walks", .views(.startsAfter), origins),
    StoreMutation(
      "A walk down begins at the key after its origin", "walks", .views(.startsBehind), origins),
    StoreMutation(
      "A walk up goes on in the next space", "walks", .views(.entersNextSpace),
      "Walks never leave their space"),
    StoreMutation("A jump back goes back", "walks", .views(.turnsOnJumps), jumps),
    StoreMutation("A jump passes over its target", "walks", .views(.passesTargets), jumps),
    StoreMutation(
      "Keys are ordered as signed bytes", "walks", .views(.ordersSigned),
      "Keys are ordered as unsigned bytes"),
    StoreMutation(
      "A walk that is stopped visits one more key", "walks", .views(.goesOnAfterStop),
      "Walks stop when told"),
    StoreMutation(
      "A walk over keys tells sizes that are wrong", "walks", .views(.tellsWrongSizes),
      "Keys are ordered as unsigned bytes"),
    StoreMutation(
      "A walk over keys passes over its third key", "walks", .views(.missesKeys),
      "Keys are ordered as unsigned bytes"),
    StoreMutation(
      "An absent key has the value of a key that begins with it", "walks", .views(.getsByPrefix),
      "Keys are ordered as unsigned bytes"),
    StoreMutation(
      "An empty value is absent when its key is read", "walks", .views(.hidesEmptyValues), empty),
  ]

  private static let views = [
    StoreMutation("A view sees later commits", "views", .views(.seesLaterCommits), frozen),
    StoreMutation(
      "A walk goes on over later commits", "views", .views(.walksSeeLaterCommits),
      "A view taken inside a walk sees the newest commit, the walk its own"),
    StoreMutation(
      "A view sees what a batch did to its first space alone", "views",
      .views(.seesFirstSpace(every: 1)), several),
    StoreMutation(
      "After every 16th batch a view sees what it did to its first space alone", "views",
      .views(.seesFirstSpace(every: 16)), programs),
    StoreMutation(
      "After 16 commits single keys are read as they were then", "views",
      .views(.getsStale(after: 16)), programs),
    StoreMutation(
      "After 64 commits single keys are read as they were then", "views",
      .views(.getsStale(after: 64)), programs),
    StoreMutation("A view ends after 16 commits", "views", .views(.ends(after: 16)), frozen),
    StoreMutation(
      "A closed view can be read", "views", .views(.answersAfterClose),
      "A closed view throws closed, twice closed is fine"),
    StoreMutation(
      "A view of a closed store shows nothing", "views", .views(.answersAfterStoreCloses), closed),
  ]

  private static let lives = [
    StoreMutation("A second close fails", "life", .life(.failsSecondClose), closed),
    StoreMutation(
      "A commit after the close is acknowledged", "life", .life(.answersAfterClose), closed),
    StoreMutation(
      "Suspending does nothing", "life", .life(.ignoresSuspension), suspended),
    StoreMutation(
      "A suspended store keeps its files and locks", "life", .life(.keepsLocks),
      "A suspended store holds no file lock and can be closed"),
    StoreMutation(
      "The newest commit is gone after suspending", "life", .life(.forgetsAtSuspending), suspended),
    StoreMutation(
      "A second opener gets the store too", "owner", .life(.letsTwoIn), owner),
    StoreMutation(
      "A second opener is not told who owns the store", "owner", .life(.hidesOwner), owner),
    StoreMutation(
      "Tidying loses the newest commit", "life", .life(.tidyingLosesCommit),
      "Tidying changes no data"),
    StoreMutation(
      "Hardening loses the newest commit", "life", .life(.hardeningLosesCommit),
      "Hardening changes no data"),
    StoreMutation(
      "A hundredth of the live bytes is counted", "sizes", .life(.countsTooLittle),
      "Size counts live data"),
    StoreMutation(
      "Live bytes never become less", "sizes", .life(.neverShrinks), "Size counts live data"),
    StoreMutation(
      "Space that was used is never used again", "sizes", .life(.neverGivesBack),
      "Space comes back once views are closed"),
    StoreMutation(
      "Traits change with the commits", "traits", .life(.changesTraits),
      "Traits are the declared ones and stay so"),
    StoreMutation(
      "The write quantum is declared far too large", "traits", .life(.overstatesQuantum),
      "A commit of one small row writes about writeQuantum bytes"),
  ]

  private static let openings = [
    StoreMutation("Nothing is kept", "opening", .openings(.forgets), reopened),
    StoreMutation(
      "Data outlives a store that is declared to forget", "opening", .openings(.remembers),
      "A store that is declared not to persist forgets"),
    StoreMutation(
      "After an orderly close the newest commit is gone", "opening",
      .openings(.forgetsLastAfterClosing), reopened),
    StoreMutation(
      "Without a close the newest commit is gone", "opening", .openings(.forgetsLastAfterDeath),
      dropped),
    StoreMutation(
      "An orderly close loses a newest commit at .relaxed", "opening", .life(.forgetsAtClosing),
      programs),
    StoreMutation(
      "Opening does the batch before the newest one again", "opening", .openings(.replaysOlder),
      programs),
    StoreMutation(
      "Opening does the newest batch again, puts before deletes and clears", "opening",
      .openings(.replaysDisordered), programs),
  ]

  private static let damages = [
    StoreMutation(
      "A damaged value is absent when its key is read", "damage", .damage(.readsAsAbsent),
      changedValue),
    StoreMutation(
      "A damaged value is read as it was before", "damage", .damage(.readsAsBefore), changedValue),
    StoreMutation(
      "A walk passes over a damaged row", "damage", .damage(.walksPassOver), changedValue),
    StoreMutation(
      "Verifying finds nothing", "damage", .damage(.verifiesNothing), changedKey),
    StoreMutation(
      "Verifying passes over a space", "damage", .damage(.verifiesWithout(.b)), changedKey),
  ]

  private static let crashes = [
    StoreMutation(
      "Every batch is two commits", "crashes", .commits(.halves(every: 1)), powerLoss),
    StoreMutation(
      "Every 7th batch is two commits", "crashes", .commits(.halves(every: 7)), powerLoss),
    StoreMutation(
      "Every 64th batch is two commits", "crashes", .commits(.halves(every: 64)), powerLoss),
    StoreMutation(
      "Nothing is synced, neither at .power nor by hardening", "crashes", .commits(.neverSyncs),
      powerLoss),
    StoreMutation(
      "Commits at .power are not synced", "crashes", .commits(.commitsNeverSync), powerLoss),
    StoreMutation(
      "An empty batch at .power syncs nothing", "crashes", .commits(.emptyNeverSyncs), powerLoss),
    StoreMutation(
      "Commits at .power return before they are synced", "crashes", .commits(.commitsSyncLate),
      powerLoss),
    StoreMutation(
      "After 50 commits nothing is synced", "crashes", .commits(.tires(after: 50)), powerLoss),
    StoreMutation(
      "Hardening syncs nothing", "crashes", .commits(.hardensNothing), powerLoss),
    StoreMutation(
      "Hardening returns before it has synced", "crashes", .commits(.hardensLate), powerLoss),
    StoreMutation("Closing syncs nothing", "crashes", .commits(.closesUnsynced), powerLoss),
    StoreMutation("Suspending syncs nothing", "crashes", .commits(.suspendsUnsynced), powerLoss),
    StoreMutation(
      "A sound store has findings", "crashes", .life(.inventsFindings), powerLoss),
    StoreMutation(
      "A sound store is found damaged", "crashes", .life(.inventsDamage), powerLoss),
    StoreMutation(
      "A sound store says that it must not be read", "crashes", .life(.deniesReading), powerLoss),
  ]

  private static let failures = [
    StoreMutation(
      "The first commit that fails is acknowledged", "failures", .failures(.swallowsCommits),
      failedIO),
    StoreMutation(
      "Every commit that fails because of the disk is acknowledged", "failures",
      .failures(.swallowsAll), failedIO),
    StoreMutation(
      "After a failed sync the store opens itself anew and goes on", "failures",
      .failures(.forgetsPoison), failedSync),
    StoreMutation(
      "After a failed sync, suspending and resuming makes the store take commits", "failures",
      .failures(.resumingCures), failedSync),
    StoreMutation(
      "On a full disk what frees space is refused too", "failures", .failures(.hoardsReserve),
      fullDisk),
    StoreMutation(
      "Hardening that failed returns", "failures", .failures(.swallowsHardening), failedSync),
    StoreMutation(
      "Closing that failed returns", "failures", .failures(.swallowsClosing), failedSync),
    StoreMutation(
      "Suspending that failed returns", "failures", .failures(.swallowsSuspending), failedSync),
    StoreMutation(
      "An error of the disk is told as damage", "failures", .failures(.criesDamage), failedAlone),
  ]
}
