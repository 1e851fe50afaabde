import ConcurrentKVO

// SNIPPET
observation.cancel()
price.value = 0
